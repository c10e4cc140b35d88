package dev.granary.plans.tuning;

import dev.granary.cache.CompileException;
import dev.granary.cache.RestoreException;
import dev.granary.cache.support.Ticker;
import dev.granary.gpu.DeviceLimits;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.plans.KernelPlan;

import org.jspecify.annotations.Nullable;

import java.util.concurrent.TimeUnit;

/**
 * Measures plans of one nest on one engine, and checks their results against those of the naive
 * plan. Not thread-safe.
 */
final class PlanMeasurer implements AutoCloseable {
    /** The least time of a sample: shorter kernels are launched several times. */
    private static final long SAMPLE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private static final int MAX_LAUNCHES = 500;

    /**
     * A plan whose kernel is ready to launch.
     *
     * @param plan the plan
     * @param kernels its kernel
     * @param launches the number of launches of one sample
     */
    record LoadedPlan(KernelPlan plan, LoadedKernels kernels, int launches)
            implements AutoCloseable {
        LoadedPlan launches(int number) {
            return new LoadedPlan(plan, kernels, number);
        }

        @Override
        public void close() {
            kernels.close();
        }
    }

    private final KernelEngine engine;
    private final DeviceLimits limits;
    private final Ticker clock;
    private final ArrayMemory memory;
    private final LoadedPlan naive;

    /**
     * Compiles the naive plan, and takes its results as the right ones.
     *
     * @throws CompileException if the naive plan does not compile or run
     */
    PlanMeasurer(KernelEngine engine, DeviceLimits limits, KernelPlan plan, long seed, Ticker clock)
            throws CompileException {
        this.engine = engine;
        this.limits = limits;
        this.clock = clock;
        this.memory = new ArrayMemory(engine, plan.arguments(), seed);
        try {
            LoadedPlan loaded = load(plan);
            launch(loaded);
            memory.expect();
            this.naive = calibrated(loaded);
        } catch (RestoreException | DriverException | IllegalArgumentException e) {
            memory.close();
            throw new CompileException(
                    "The naive plan of " + plan.name() + " does not run on this device: "
                            + e.getMessage(),
                    "");
        } catch (CompileException e) {
            memory.close();
            throw e;
        }
    }

    /** Returns the naive plan. */
    LoadedPlan naive() {
        return naive;
    }

    /**
     * Compiles a plan.
     *
     * @throws IllegalArgumentException if it exceeds a limit of the device
     * @throws CompileException if the driver does not compile it
     */
    LoadedPlan load(KernelPlan plan) throws CompileException, RestoreException {
        KernelProgram program = engine.create(plan.descriptor(engine.target(), limits));
        return new LoadedPlan(plan, engine.load(program), 1);
    }

    /**
     * Launches a plan, and compares its results. This is also its first launch, in which some
     * drivers compile.
     *
     * @return the first difference, or null if the results are right
     */
    @Nullable
    String check(LoadedPlan loaded) {
        memory.reset();
        launch(loaded);
        String difference = memory.difference();
        if (difference != null) {
            memory.resetAll(); // such a kernel may have written anywhere
        }
        return difference;
    }

    /** Returns the plan with as many launches in a sample as it needs. */
    LoadedPlan calibrated(LoadedPlan loaded) {
        long nanos = Math.max(1, sample(loaded.launches(1)));
        return loaded.launches(Math.clamp(SAMPLE_NANOS / nanos, 1, MAX_LAUNCHES));
    }

    /** Returns the time of one launch in nanoseconds, as the mean of a sample. */
    long sample(LoadedPlan loaded) {
        memory.reset(); // else values could grow beyond all bounds, and take another time
        long start = clock.nanos();
        for (int i = 0; i < loaded.launches(); i++) {
            launch(loaded);
        }
        return (clock.nanos() - start) / loaded.launches();
    }

    private void launch(LoadedPlan loaded) {
        loaded.kernels().launch(loaded.plan().name(), loaded.plan().geometry(), memory.arguments());
    }

    @Override
    public void close() {
        naive.close();
        memory.close();
    }
}
