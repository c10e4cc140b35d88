package dev.granary.gpu.plan.tuning;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cache.support.Ticker;
import dev.granary.gpu.DeviceLimits;
import dev.granary.gpu.KernelEngine;

/**
 * A tuner of plans for the device of an engine. It compiles and runs the plans of a space, compares
 * their results with those of the naive plan, and measures them. Thread-safe; concurrent tunings
 * disturb the measurements of each other.
 *
 * <p>To a cache it is an engine that creates {@link TunedPlan}s: compiling is tuning, and restoring
 * is reading an outcome. The compiled kernels of the trials are not cached. Closing it leaves the
 * engine open.
 */
public final class PlanTuner implements Engine<TuningDescriptor, TunedPlan> {
    private final KernelEngine<?> engine;
    private final DeviceLimits limits;
    private final TuningSettings settings;
    private final TuningProgress progress;
    private final Ticker clock;

    PlanTuner(
            KernelEngine<?> engine,
            DeviceLimits limits,
            TuningSettings settings,
            TuningProgress progress,
            Ticker clock) {
        this.engine = engine;
        this.limits = limits;
        this.settings = settings;
        this.progress = progress;
        this.clock = clock;
    }

    /**
     * Returns a tuner.
     *
     * @param limits the limits of the engine's device
     */
    public static PlanTuner of(
            KernelEngine<?> engine, DeviceLimits limits, TuningSettings settings) {
        return new PlanTuner(engine, limits, settings, (_, _, _) -> {}, Ticker.SYSTEM);
    }

    /** Returns this tuner with a receiver of the result of each plan. */
    public PlanTuner listener(TuningProgress receiver) {
        return new PlanTuner(engine, limits, settings, receiver, clock);
    }

    /** Returns the limits of the device. */
    public DeviceLimits limits() {
        return limits;
    }

    @Override
    public Target target() {
        return engine.target();
    }

    /**
     * Tunes.
     *
     * @throws CompileException if the naive plan does not run, or no plan of the space gave right
     *     results
     * @throws IllegalArgumentException if the descriptor is for another target
     */
    @Override
    public TunedPlan create(TuningDescriptor descriptor) throws CompileException {
        checkTarget(descriptor);
        return TunedPlan.of(descriptor, tune(engine, descriptor.space()));
    }

    private <P extends Primitive> TuningOutcome tune(KernelEngine<P> typed, PlanSpace space)
            throws CompileException {
        try (PlanMeasurer<P> measurer =
                new PlanMeasurer<>(typed, limits, space.naive(), settings.seed(), clock)) {
            return new TuningRun<>(space, settings, measurer, progress, clock).run();
        }
    }

    @Override
    public TunedPlan create(TuningDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        checkTarget(descriptor);
        if (kind != BinaryKind.KERNEL) {
            throw new RestoreException("An outcome of a tuning is no " + kind);
        }
        return TunedPlan.restore(descriptor, binaries);
    }

    private void checkTarget(TuningDescriptor descriptor) {
        if (!descriptor.target().equals(engine.target())) {
            throw new IllegalArgumentException("The tuning is for " + descriptor.target()
                    + ", the engine is " + engine.target());
        }
    }

    @Override
    public void close() {}
}
