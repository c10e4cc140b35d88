package dev.granary.plans.tuning;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;
import dev.granary.cache.support.Ticker;
import dev.granary.gpu.DeviceLimits;
import dev.granary.gpu.KernelEngine;
import dev.granary.plans.KernelPlan;

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
    private final KernelEngine engine;
    private final DeviceLimits limits;
    private final TuningSettings settings;
    private final TuningProgress progress;
    private final TrialGuard guard;
    private final Ticker clock;

    PlanTuner(
            KernelEngine engine,
            DeviceLimits limits,
            TuningSettings settings,
            TuningProgress progress,
            TrialGuard guard,
            Ticker clock) {
        this.engine = engine;
        this.limits = limits;
        this.settings = settings;
        this.progress = progress;
        this.guard = guard;
        this.clock = clock;
    }

    /**
     * Returns a tuner.
     *
     * @param limits the limits of the engine's device
     */
    public static PlanTuner of(KernelEngine engine, DeviceLimits limits, TuningSettings settings) {
        return new PlanTuner(
                engine, limits, settings, (_, _, _) -> {}, TrialGuard.NONE, Ticker.SYSTEM);
    }

    /** Returns this tuner with a receiver of the result of each plan. */
    public PlanTuner listener(TuningProgress receiver) {
        return new PlanTuner(engine, limits, settings, receiver, guard, clock);
    }

    /** Returns this tuner with a record of the plans that are being tried. */
    public PlanTuner guard(TrialGuard record) {
        return new PlanTuner(engine, limits, settings, progress, record, clock);
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
        requireTarget(descriptor);
        return TunedPlan.of(descriptor, tune(descriptor.space()));
    }

    private TuningOutcome tune(PlanSpace space) throws CompileException {
        KernelPlan naive = space.naive();
        PlanMeasurer measurer;
        try (TrialGuard.Trial _ = guard.begin(sourceHash(naive))
                .orElseThrow(() -> new CompileException(
                        "The naive plan of " + naive.name() + " is not tried: " + TuningRun.ENDED,
                        ""))) {
            measurer = new PlanMeasurer(engine, limits, naive, settings.seed(), clock);
        }
        try (measurer) {
            return new TuningRun(space, settings, measurer, progress, guard, clock).run();
        }
    }

    @Override
    public TunedPlan create(TuningDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        requireTarget(descriptor);
        if (kind != BinaryKind.KERNEL) {
            throw new RestoreException("An outcome of a tuning is no " + kind);
        }
        return TunedPlan.restore(descriptor, binaries);
    }

    /** Returns the SHA-256 of the source of a plan. */
    static Sha256 sourceHash(KernelPlan plan) {
        return Sha256.of(plan.source().getBytes(UTF_8));
    }

    @Override
    public void close() {}
}
