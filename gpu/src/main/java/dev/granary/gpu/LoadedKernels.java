package dev.granary.gpu;

/**
 * The kernels of one program, live in one engine: a resource. Held by the one who loaded them, freed by {@link #close()} or with the engine.
 * For one thread at a time: arguments are state of a kernel.
 */
public interface LoadedKernels extends AutoCloseable {
    /** Makes all kernels live now, which the first launch of each would do otherwise. */
    void makeLive();

    /**
     * Launches a kernel and waits until it has run.
     *
     * @param kernel its name
     * @param geometry the size of the launch
     * @param arguments one for each parameter: a {@link DeviceBuffer} of the same engine, an {@link Integer}, {@link Long}, {@link Float},
     *     {@link Double}, or a piece of local memory as the engine has it
     * @throws IllegalArgumentException for an argument of another type or another engine, or another number of arguments than the kernel
     *     has
     * @throws IllegalStateException if these kernels, a buffer or the engine is closed
     */
    void launch(String kernel, Geometry geometry, Object... arguments);

    @Override
    void close();
}
