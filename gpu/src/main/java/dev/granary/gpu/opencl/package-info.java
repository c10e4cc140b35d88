/**
 * The OpenCL engine: devices, contexts, programs and launches, through LWJGL.
 *
 * <p>Inner packages have the native calls with their status checks ({@code binding}), and
 * differences between drivers ({@code driver}).
 *
 * <p>Only verified bytes may be passed to
 * {@link dev.granary.gpu.KernelEngine#create(dev.granary.cache.PrimitiveDescriptor,
 * dev.granary.cache.KernelBinaries, dev.granary.cache.BinaryKind)}, since drivers abort the process
 * on damaged binaries.
 */
@NullMarked
package dev.granary.gpu.opencl;

import org.jspecify.annotations.NullMarked;
