/** Tests of containers of compiled programs, on real files, on drivers, and on mutated bytes. */
@NullMarked
package dev.granary.gpu.binary;

import org.jspecify.annotations.NullMarked;
