package dev.granary.gpu;

import dev.granary.cache.Engine;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.constant.EngineKind;

/**
 * An engine that compiles programs of kernels, loads them for launches, and allocates device
 * memory. Thread-safe.
 */
public interface KernelEngine extends Engine<KernelDescriptor, KernelProgram> {
    /** Returns the kind of the device; by default {@link EngineKind#GPU}. */
    default EngineKind kind() {
        return EngineKind.GPU;
    }

    /**
     * Loads the kernels of a program into this engine. It compiles only if the program has no
     * binaries or the driver refuses them; {@link Primitive#onCompiledAgain} then reports it.
     *
     * @throws RestoreException if the driver no longer compiles the program
     * @throws IllegalArgumentException if the program is for another target, or was not created by
     *     an engine that loads programs
     * @throws IllegalStateException if this engine is closed
     */
    LoadedKernels load(KernelProgram program) throws RestoreException;

    /** Returns a new buffer of that many bytes, with undefined content. */
    DeviceBuffer buffer(long bytes);
}
