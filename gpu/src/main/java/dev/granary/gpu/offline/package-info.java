/** Compilers for devices that are not in this machine: Intel's {@code ocloc}. */
@NullMarked
package dev.granary.gpu.offline;

import org.jspecify.annotations.NullMarked;
