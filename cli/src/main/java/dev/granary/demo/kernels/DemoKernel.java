package dev.granary.demo.kernels;

import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.LoadedKernels;

import java.util.random.RandomGenerator;

/** A program of kernels with a check of its results on a device. Immutable, thread-safe. */
public interface DemoKernel {
    /**
     * Returns a short name in lower case with dashes, at most 18 characters, unique among
     * {@link DemoKernels#all()}.
     */
    String name();

    /**
     * Returns the descriptor for a target. It declares the launches of {@link #verify}, one
     * geometry for each kernel.
     *
     * @throws IllegalStateException if a source is missing from this build
     */
    default KernelDescriptor descriptor(Target target) {
        return descriptor(target, "");
    }

    /**
     * Returns the descriptor with an extra digest.
     *
     * @param digest a digest of inputs that the key cannot cover; empty for none
     * @throws IllegalStateException if a source is missing from this build
     */
    KernelDescriptor descriptor(Target target, String digest);

    /**
     * Launches every kernel of the program at least once, on synthetic data and only in the
     * declared geometries, and compares the results with a reference in Java. This takes about 10
     * ms on a small machine, plus compilations at launch.
     *
     * @param engine the engine that loaded {@code kernels}; also the owner of the buffers
     * @param kernels the live kernels of {@link #descriptor}
     * @param random the generator of the data
     * @throws dev.granary.gpu.DriverException if the driver refuses a launch or a buffer
     */
    KernelCheckResult verify(KernelEngine<?> engine, LoadedKernels kernels, RandomGenerator random);
}
