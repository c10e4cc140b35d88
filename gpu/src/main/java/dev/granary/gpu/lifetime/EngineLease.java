package dev.granary.gpu.lifetime;

/**
 * A use of an engine's native objects. The engine releases them only after all leases are closed.
 */
public interface EngineLease extends AutoCloseable {
    @Override
    void close();
}
