/** Containers of compiled programs, read without a driver. */
@NullMarked
package dev.granary.gpu.binary;

import org.jspecify.annotations.NullMarked;
