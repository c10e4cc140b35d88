package dev.granary.gpu;

import java.time.Duration;

/**
 * The kernels of one program, loaded into one engine. They are released by {@link #close()} or with
 * the engine. Not thread-safe: arguments are state of a kernel.
 */
public interface LoadedKernels extends AutoCloseable {
    /** Creates all kernels now instead of at the first launch of each. */
    void createKernels();

    /**
     * Launches a kernel and waits for its completion.
     *
     * @param kernel the kernel's name
     * @param geometry the size of the launch
     * @param arguments one for each parameter: a {@link DeviceBuffer} of the same engine, a number
     *     ({@link Integer}, {@link Long}, {@link Float} or {@link Double}), {@link LocalMemory}, or
     *     a {@link java.lang.foreign.MemorySegment} or the remaining bytes of a
     *     {@link java.nio.ByteBuffer} as the value of a parameter of any other type, such as
     *     {@code short}, {@code float4} or a struct. Drivers read a value of 8 bytes in place of a
     *     buffer as an address: it may end the process
     * @throws IllegalArgumentException if an argument has another type or belongs to another
     *     engine, or the number of arguments is wrong
     * @throws IllegalStateException if these kernels, a buffer or the engine is closed
     * @throws DriverException if the program has no such kernel, the size of an argument is not
     *     that of its parameter, the driver refuses the launch, or it fails
     */
    void launch(String kernel, Geometry geometry, Object... arguments);

    /**
     * Returns the total time of the first {@link #launch} of each kernel. For a driver that
     * compiles at a first launch, it includes compiling.
     */
    Duration firstLaunchTime();

    @Override
    void close();
}
