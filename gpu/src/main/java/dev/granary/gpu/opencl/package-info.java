/**
 * The OpenCL engine: devices, contexts, programs and launches, through LWJGL.
 *
 * <p>{@code ClBinding} contains all native calls and checks the status of each. Only verified bytes
 * may be passed to
 * {@link dev.granary.gpu.opencl.OpenClEngine#create(dev.granary.gpu.KernelDescriptor,
 * dev.granary.cache.KernelBinaries, dev.granary.cache.BinaryKind)}, since drivers abort the process
 * on damaged binaries.
 */
@NullMarked
package dev.granary.gpu.opencl;

import org.jspecify.annotations.NullMarked;
