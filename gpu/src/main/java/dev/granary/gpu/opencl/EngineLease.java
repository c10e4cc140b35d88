package dev.granary.gpu.opencl;

/**
 * A use of an engine's native objects. The engine releases them only after all leases are closed.
 */
interface EngineLease extends AutoCloseable {
    @Override
    void close();
}
