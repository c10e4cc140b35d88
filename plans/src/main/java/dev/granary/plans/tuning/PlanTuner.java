package dev.granary.plans.tuning;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.CompileException;
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
import java.util.Collections;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * A tuner of plans for the device of an engine. It compiles and runs the plans of a space, compares
 * their results with those of the naive plan, and measures them. Thread-safe; concurrent tunings
 * disturb the measurements of each other. The compiled kernels of the trials are not cached.
 */
public final class PlanTuner {
    /** A record of trials that records nothing. */
    static final Function<Sha256, Optional<Runnable>> UNGUARDED = _ -> Optional.of(() -> {});

    private final KernelEngine engine;
    private final DeviceLimits limits;
    private final TuningSettings settings;
    private final TuningProgress progress;
    private final Function<Sha256, Optional<Runnable>> guard;
    private final Ticker clock;

    PlanTuner(
            KernelEngine engine,
            DeviceLimits limits,
            TuningSettings settings,
            TuningProgress progress,
            Function<Sha256, Optional<Runnable>> guard,
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
        return new PlanTuner(engine, limits, settings, (_, _, _) -> {}, UNGUARDED, Ticker.SYSTEM);
    }

    /** Returns this tuner with a receiver of the result of each plan. */
    public PlanTuner listener(TuningProgress receiver) {
        return new PlanTuner(engine, limits, settings, receiver, guard, clock);
    }

    /**
     * Returns this tuner with a record of the plans that are being tried. Drivers abort the process
     * on some kernels, or never return. A plan during whose trial a process ended is not tried by
     * the next one.
     *
     * @param record takes the SHA-256 of the source of a plan, and returns the action that ends its
     *     trial; empty if the plan must not be tried
     */
    PlanTuner guard(Function<Sha256, Optional<Runnable>> record) {
        return new PlanTuner(engine, limits, settings, progress, record, clock);
    }

    /** Returns the target of the device. */
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
    public TunedPlan create(TuningDescriptor descriptor) throws CompileException {
        engine.requireTarget(descriptor);
        return TunedPlan.of(descriptor, tune(descriptor.space()));
    }

    private TuningOutcome tune(PlanSpace space) throws CompileException {
        KernelPlan naive = space.naive();
        Runnable end = guard.apply(sourceHash(naive))
                .orElseThrow(() -> new CompileException(
                        "The naive plan of " + naive.name() + " is not tried: " + TuningRun.ENDED,
                        ""));
        PlanMeasurer measurer;
        try {
            measurer = new PlanMeasurer(engine, limits, naive, settings.seed(), clock);
        } finally {
            end.run();
        }
        try (measurer) {
            return new TuningRun(space, settings, measurer, progress, guard, clock).run();
        }
    }

    /** Returns the SHA-256 of the source of a plan. */
    static Sha256 sourceHash(KernelPlan plan) {
        return Sha256.of(plan.source().getBytes(UTF_8));
    }

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

    /** The verdict on a plan that was tried. */
    public enum Verdict {
        /** The plan gave the right results, and was measured several times. */
        MEASURED,
        /**
         * The plan gave the right results, but its first launch took more than twice the time of
         * the best plan, so that it was not measured further.
         */
        SLOW,
        /** The values have no plan, or the plan exceeds a limit of the device. */
        UNSUITABLE,
        /** The driver refused to compile or to launch the kernel. */
        REFUSED,
        /** The results differ from those of the naive plan. */
        WRONG;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * The result of trying one plan.
     *
     * @param verdict the verdict
     * @param time the median time of a launch, or that of the first one of a slow plan; else zero
     * @param reason the rule, the limit, the driver's message or the first element that differs;
     *     empty if the results are right
     */
    public record TuningTrial(Verdict verdict, Duration time, String reason) {}

    /**
     * The number of plans with each verdict.
     *
     * @param byVerdict the numbers of all verdicts
     */
    public record TrialCounts(Map<Verdict, Integer> byVerdict) {
        static final TrialCounts NONE = new TrialCounts(Map.of());

        /**
         * Copies the numbers, with zeros for the verdicts that are absent.
         *
         * @throws IllegalArgumentException if one is negative
         */
        public TrialCounts {
            EnumMap<Verdict, Integer> all = new EnumMap<>(Verdict.class);
            for (Verdict verdict : Verdict.values()) {
                all.put(verdict, byVerdict.getOrDefault(verdict, 0));
            }
            if (Collections.min(all.values()) < 0) {
                throw new IllegalArgumentException("A number of plans is negative");
            }
            byVerdict = Collections.unmodifiableMap(all);
        }

        /** Returns the number of plans that were tried. */
        public int tried() {
            return byVerdict.values().stream().mapToInt(Integer::intValue).sum();
        }

        TrialCounts plus(Verdict verdict) {
            Map<Verdict, Integer> more = new EnumMap<>(byVerdict);
            more.merge(verdict, 1, Integer::sum);
            return new TrialCounts(more);
        }

        /** Returns text such as {@code 40 measured, 3 slow, 12 unsuitable, 0 refused, 0 wrong}. */
        @Override
        public String toString() {
            return byVerdict.entrySet().stream()
                    .map(count -> count.getValue() + " " + count.getKey())
                    .collect(Collectors.joining(", "));
        }
    }
}
