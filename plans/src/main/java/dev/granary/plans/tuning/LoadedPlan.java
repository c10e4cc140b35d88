package dev.granary.plans.tuning;

import dev.granary.gpu.LoadedKernels;
import dev.granary.plans.KernelPlan;

/**
 * A plan whose kernel is ready to launch.
 *
 * @param plan the plan
 * @param kernels its kernel
 * @param launches the number of launches of one sample
 */
record LoadedPlan(KernelPlan plan, LoadedKernels kernels, int launches) implements AutoCloseable {
    LoadedPlan launches(int number) {
        return new LoadedPlan(plan, kernels, number);
    }

    @Override
    public void close() {
        kernels.close();
    }
}
