package dev.granary.demo.kernels;

import dev.granary.cache.Target;
import dev.granary.gpu.DeviceLimits;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.plan.KernelPlan;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.random.RandomGenerator;

/**
 * A demo kernel that is emitted from a kernel plan.
 *
 * @param name the demo kernel's name
 * @param plan the plan
 * @param check the check of its results
 */
record PlanKernel(String name, KernelPlan plan, KernelRecipe.Check check) implements DemoKernel {
    /** Limits that each device with the full profile of OpenCL 1.2 and work-groups of 256 has. */
    static final DeviceLimits LIMITS =
            new DeviceLimits(32 << 10, 64 << 10, 256, List.of(256L, 256L, 64L), 1);

    @Override
    public KernelDescriptor descriptor(Target target, String digest) {
        return plan.describe(target, LIMITS).extraDigest(digest).build();
    }

    @Override
    public KernelCheckResult verify(
            KernelEngine<?> engine, LoadedKernels kernels, RandomGenerator random) {
        return KernelRecipe.verify(
                name,
                new TreeMap<>(Map.of(plan.name(), plan.geometry())),
                check,
                engine,
                kernels,
                random);
    }

    @Override
    public String toString() {
        return name;
    }
}
