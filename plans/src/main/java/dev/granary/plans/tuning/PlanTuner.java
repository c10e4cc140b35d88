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
import dev.granary.plans.tuning.PlanSpace.PlanParameters;
import dev.granary.plans.tuning.TunedPlan.TuningDescriptor;
import dev.granary.plans.tuning.TunedPlan.TuningOutcome;

import java.time.Duration;
import java.util.Optional;

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

    /**
     * The limits of a tuning.
     *
     * @param budget the time after which no further plan is tried; the last measurements follow it
     * @param seed decides the order of the plans and the content of the arrays
     * @param rounds the number of rounds in which the best plans are measured in turns at the end
     * @param patience the number of plans without an improvement after which no further one is
     *     tried
     */
    public record TuningSettings(Duration budget, long seed, int rounds, int patience) {
        private static final int ROUNDS = 9;
        private static final int PATIENCE = 400;

        /**
         * Checks the limits.
         *
         * @throws IllegalArgumentException if one is not positive
         */
        public TuningSettings {
            if (budget.isNegative() || budget.isZero()) {
                throw new IllegalArgumentException("The budget must be positive, not " + budget);
            }
            if (rounds <= 0 || patience <= 0) {
                throw new IllegalArgumentException(
                        "Rounds and patience must be positive, not " + rounds + " and " + patience);
            }
        }

        /** Returns settings with this budget and seed, 9 rounds and a patience of 400 plans. */
        public static TuningSettings of(Duration budget, long seed) {
            return new TuningSettings(budget, seed, ROUNDS, PATIENCE);
        }

        /** Returns these settings with another patience. */
        public TuningSettings patience(int plans) {
            return new TuningSettings(budget, seed, rounds, plans);
        }

        /** Returns these settings with another number of rounds. */
        public TuningSettings rounds(int number) {
            return new TuningSettings(budget, seed, number, patience);
        }
    }

    /** A receiver of the results of a tuning, called on the thread of the tuner. */
    @FunctionalInterface
    public interface TuningProgress {
        /**
         * Receives the result of one plan.
         *
         * @param values the point of the plan
         * @param trial the result
         * @param counts the results so far, this one included
         */
        void tried(PlanParameters values, TuningTrial trial, TrialCounts counts);
    }

    /** The result of trying one plan. */
    public sealed interface TuningTrial {
        /**
         * The plan gave the right results, and was measured several times.
         *
         * @param time the median time of a launch
         */
        record Measured(Duration time) implements TuningTrial {}

        /**
         * The plan gave the right results, but its first launch took more than twice the time of
         * the best plan, so that it was not measured further.
         *
         * @param time the time of that launch
         */
        record Slow(Duration time) implements TuningTrial {}

        /**
         * The values have no plan, or the plan exceeds a limit of the device.
         *
         * @param reason the rule or limit
         */
        record Unsuitable(String reason) implements TuningTrial {}

        /**
         * The driver refused to compile or to launch the kernel.
         *
         * @param reason the message of the driver, one line
         */
        record Refused(String reason) implements TuningTrial {}

        /**
         * The results differ from those of the naive plan.
         *
         * @param difference the first element that differs
         */
        record Wrong(String difference) implements TuningTrial {}
    }

    /**
     * The number of plans with each result.
     *
     * @param measured right results, measured several times
     * @param slow right results, but too slow for further measurements
     * @param unsuitable no plan, or beyond a limit of the device
     * @param refused not compiled or launched by the driver
     * @param wrong results that differ from those of the naive plan
     */
    public record TrialCounts(int measured, int slow, int unsuitable, int refused, int wrong) {
        static final TrialCounts NONE = new TrialCounts(0, 0, 0, 0, 0);

        /**
         * Checks the numbers.
         *
         * @throws IllegalArgumentException if one is negative
         */
        public TrialCounts {
            if (Math.min(Math.min(measured, slow), Math.min(Math.min(unsuitable, refused), wrong))
                    < 0) {
                throw new IllegalArgumentException("A number of plans is negative");
            }
        }

        /** Returns the number of plans that were tried. */
        public int tried() {
            return measured + slow + unsuitable + refused + wrong;
        }

        TrialCounts plus(TuningTrial trial) {
            return switch (trial) {
                case TuningTrial.Measured _ ->
                    new TrialCounts(measured + 1, slow, unsuitable, refused, wrong);
                case TuningTrial.Slow _ ->
                    new TrialCounts(measured, slow + 1, unsuitable, refused, wrong);
                case TuningTrial.Unsuitable _ ->
                    new TrialCounts(measured, slow, unsuitable + 1, refused, wrong);
                case TuningTrial.Refused _ ->
                    new TrialCounts(measured, slow, unsuitable, refused + 1, wrong);
                case TuningTrial.Wrong _ ->
                    new TrialCounts(measured, slow, unsuitable, refused, wrong + 1);
            };
        }

        /** Returns text such as {@code 40 measured, 3 slow, 12 unsuitable, 0 refused, 0 wrong}. */
        @Override
        public String toString() {
            return measured + " measured, " + slow + " slow, " + unsuitable + " unsuitable, "
                    + refused + " refused, " + wrong + " wrong";
        }
    }

    /**
     * A record of the plans that are being tried. Drivers abort the process on some kernels, or
     * never return. A plan during whose trial a process ended is not tried by the next one.
     */
    @FunctionalInterface
    public interface TrialGuard {
        /** A guard that records nothing. */
        TrialGuard NONE = _ -> Optional.of(() -> {});

        /** A trial that is under way. */
        @FunctionalInterface
        interface Trial extends AutoCloseable {
            /** Ends the trial, which the process survived. */
            @Override
            void close();
        }

        /**
         * Records that a plan is tried until the result is closed.
         *
         * @param source the SHA-256 of the generated source
         * @return empty if a process ended during the trial of this plan, so that it must not be
         *     tried
         */
        Optional<Trial> begin(Sha256 source);
    }
}
