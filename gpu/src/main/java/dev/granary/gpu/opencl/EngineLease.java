package dev.granary.gpu.opencl;

/** A use of an engine's native objects under way: it holds off the closing of the engine. */
interface EngineLease extends AutoCloseable {
    @Override
    void close();
}
