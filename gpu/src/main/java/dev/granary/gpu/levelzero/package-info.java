/**
 * The Level Zero engine: devices, modules, kernels and memory, through the foreign function
 * interface of the JDK.
 *
 * <p>Programs reach a driver as SPIR-V, which a {@link dev.granary.gpu.spirv.SpirvCompiler} makes
 * of OpenCL C, or as the native binary of an earlier build. Only verified binaries may be passed to
 * an engine, since drivers may abort the process on damaged ones.
 */
@NullMarked
package dev.granary.gpu.levelzero;

import org.jspecify.annotations.NullMarked;
