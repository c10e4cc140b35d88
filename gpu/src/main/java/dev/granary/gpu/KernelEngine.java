package dev.granary.gpu;

import dev.granary.cache.Engine;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;

/**
 * An engine that compiles programs of kernels and runs them: makes their resources, and device memory. Thread-safe.
 *
 * @param <P> the primitives it creates
 */
public interface KernelEngine<P extends Primitive> extends Engine<KernelDescriptor, P> {
    /**
     * Makes the resource that launches the primitive's kernels here. It does not compile, except where the primitive has no binaries or the
     * driver refuses them, which {@link Primitive#onCompiledAgain} tells.
     *
     * @throws RestoreException if the driver does not compile any more what it compiled before
     * @throws IllegalStateException if this engine is closed
     */
    LoadedKernels load(P primitive) throws RestoreException;

    /** A buffer of that many bytes, its content undefined. */
    DeviceBuffer buffer(long bytes);
}
