/** GPUs as targets, compilers and binaries name them. */
@NullMarked
package dev.granary.gpu.device;

import org.jspecify.annotations.NullMarked;
