/** Tests of compilers for devices that are not here. */
@NullMarked
package dev.granary.gpu.offline;

import org.jspecify.annotations.NullMarked;
