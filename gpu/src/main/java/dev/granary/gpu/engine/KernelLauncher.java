package dev.granary.gpu.engine;

import dev.granary.gpu.Geometry;

/** The calls of one engine's driver about kernels. Each requires a lease of the engine. */
public interface KernelLauncher {
    /** Creates the kernel of that name. */
    NativeHandle create(long program, String name);

    /** Returns the number of parameters of a kernel. */
    int parameters(long kernel);

    /** Returns true if no binary may be taken from the driver during a launch of that kernel. */
    default boolean excludesTaking(long kernel) {
        return false;
    }

    /**
     * Sets an argument of the next launch.
     *
     * @param bytes the size of the value, or of the local memory
     * @param value the address of the value; 0 for local memory
     */
    void setArgument(long kernel, int index, long bytes, long value);

    /**
     * Launches a kernel and waits for its completion.
     *
     * @param excludesTaking as {@link #excludesTaking} returned for it
     * @throws dev.granary.gpu.DriverException if the driver refuses the launch, or it fails
     */
    void launch(long kernel, Geometry geometry, boolean excludesTaking);
}
