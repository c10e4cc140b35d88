/** Compilers of OpenCL C to SPIR-V, for backends that do not take source. */
@NullMarked
package dev.granary.gpu.spirv;

import org.jspecify.annotations.NullMarked;
