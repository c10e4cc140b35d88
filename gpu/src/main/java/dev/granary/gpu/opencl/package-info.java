/**
 * The OpenCL engine: devices, contexts, programs, launches, through LWJGL.
 *
 * <p>{@code ClBinding} holds every native call, each with its status checked. Nothing that was not verified may reach
 * {@link dev.granary.gpu.opencl.OpenClEngine#create(dev.granary.gpu.KernelDescriptor, dev.granary.cache.KernelBinaries,
 * dev.granary.cache.BinaryKind)}: drivers abort the process on damaged binaries.
 */
@NullMarked
package dev.granary.gpu.opencl;

import org.jspecify.annotations.NullMarked;
