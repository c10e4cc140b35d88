package dev.granary.demo.kernels;

import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.OpenClKernels;
import java.util.random.RandomGenerator;

/** A program of kernels that can say whether a device computes it right. Immutable, thread-safe. */
public interface DemoKernel {
    /** A short name in lower case with dashes, at most 18 characters; unique among {@link DemoKernels#all()}. */
    String name();

    /**
     * What is compiled for that target, with the launches of {@link #verify} announced: one geometry for each kernel.
     *
     * @throws IllegalStateException if a source is missing from this build
     */
    KernelDescriptor descriptor(Target target);

    /**
     * Launches every kernel of the program at least once, on made-up data and in the announced geometries only, and compares the results
     * with a reference in Java. Takes some ten milliseconds on a small machine, plus what the driver compiles at launch.
     *
     * @param engine the engine that {@code kernels} were loaded by; buffers are made in it and freed
     * @param kernels the live kernels of {@link #descriptor}
     * @param random makes up the data
     * @throws dev.granary.gpu.opencl.OpenClException if the driver refuses a launch or a buffer
     */
    KernelCheckResult verify(OpenClEngine engine, OpenClKernels kernels, RandomGenerator random);
}
