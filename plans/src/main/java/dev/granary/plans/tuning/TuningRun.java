package dev.granary.plans.tuning;

import dev.granary.cache.CompileException;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Sha256;
import dev.granary.cache.support.Ticker;
import dev.granary.gpu.DriverException;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.tuning.PlanMeasurer.LoadedPlan;
import dev.granary.plans.tuning.PlanSpace.PlanParameters;
import dev.granary.plans.tuning.PlanTuner.TrialCounts;
import dev.granary.plans.tuning.PlanTuner.TuningProgress;
import dev.granary.plans.tuning.PlanTuner.TuningSettings;
import dev.granary.plans.tuning.PlanTuner.TuningTrial;
import dev.granary.plans.tuning.PlanTuner.Verdict;
import dev.granary.plans.tuning.TunedPlan.TuningOutcome;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * One tuning: the plans in the order of the seed, each compiled, checked and measured; then the
 * best ones and the naive plan in turns. Used once, by one thread.
 */
final class TuningRun {
    private static final int SAMPLES = 3;
    private static final int FINALISTS = 4;

    /** A plan whose first launch takes this many times as long as the best one is given up. */
    private static final int SLOW = 2;

    /** An improvement by less than one part of this many does not renew the patience. */
    private static final int LEAST_IMPROVEMENT = 100;

    /** The reason for which a plan is not tried. */
    static final String ENDED = "a process ended during its trial";

    private static final int LEAST_ROUNDS = 3;
    private static final long FINAL_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final PlanSpace space;
    private final TuningSettings settings;
    private final PlanMeasurer measurer;
    private final TuningProgress progress;
    private final Function<Sha256, Optional<Runnable>> guard;
    private final Ticker clock;
    private final long start;
    private final List<Candidate> best = new ArrayList<>(); // fastest first
    private TrialCounts counts = TrialCounts.NONE;
    private String firstFailure = "";
    private int sinceImprovement;

    TuningRun(
            PlanSpace space,
            TuningSettings settings,
            PlanMeasurer measurer,
            TuningProgress progress,
            Function<Sha256, Optional<Runnable>> guard,
            Ticker clock) {
        this.space = space;
        this.settings = settings;
        this.measurer = measurer;
        this.progress = progress;
        this.guard = guard;
        this.clock = clock;
        this.start = clock.nanos();
    }

    /** A plan with right results, and its median time in nanoseconds. */
    private record Candidate(PlanParameters values, LoadedPlan loaded, long nanos) {}

    /**
     * Tries plans until the space, the budget or the patience is used up.
     *
     * @throws CompileException if no plan gave right results
     */
    TuningOutcome run() throws CompileException {
        try {
            for (int number : order()) {
                if (clock.nanos() - start >= settings.budget().toNanos()
                        || sinceImprovement >= settings.patience()
                        || Thread.currentThread().isInterrupted()) {
                    break;
                }
                PlanParameters values = space.point(number);
                TuningTrial trial = attempt(values);
                counts = counts.plus(trial.verdict());
                progress.tried(values, trial, counts);
            }
            if (best.isEmpty()) {
                throw new CompileException(
                        "No plan of the space of " + space.nest().name()
                                + " gave right results on this device: " + counts
                                + (firstFailure.isEmpty() ? "" : "; the first: " + firstFailure),
                        "");
            }
            return outcome();
        } finally {
            best.forEach(candidate -> candidate.loaded().close());
        }
    }

    /** Returns the numbers of all points in the order of the seed. */
    private List<Integer> order() {
        List<Integer> order =
                Arrays.asList(IntStream.range(0, space.size()).boxed().toArray(Integer[]::new));
        Collections.shuffle(order, new SplittableRandom(settings.seed()));
        return order;
    }

    private TuningTrial attempt(PlanParameters values) {
        sinceImprovement++;
        KernelPlan plan;
        try {
            plan = space.plan(values);
        } catch (IllegalArgumentException | ArithmeticException e) {
            return failed(Verdict.UNSUITABLE, e.getMessage());
        }
        Optional<Runnable> end = guard.apply(PlanTuner.sourceHash(plan));
        if (end.isEmpty()) {
            return failed(Verdict.REFUSED, ENDED);
        }
        try {
            return attempt(values, plan);
        } finally {
            end.get().run();
        }
    }

    private TuningTrial attempt(PlanParameters values, KernelPlan plan) {
        LoadedPlan loaded;
        try {
            loaded = measurer.load(plan);
        } catch (IllegalArgumentException e) {
            return failed(Verdict.UNSUITABLE, e.getMessage());
        } catch (CompileException | RestoreException | DriverException e) {
            return failed(Verdict.REFUSED, e.getMessage());
        }
        boolean isKept = false;
        try {
            String difference = measurer.check(loaded);
            if (difference != null) {
                return failed(Verdict.WRONG, difference);
            }
            long first = measurer.sample(loaded);
            if (!best.isEmpty() && first > SLOW * best.getFirst().nanos()) {
                return new TuningTrial(Verdict.SLOW, Duration.ofNanos(first), "");
            }
            LoadedPlan calibrated = measurer.calibrated(loaded);
            long[] samples = new long[SAMPLES];
            Arrays.setAll(samples, _ -> measurer.sample(calibrated));
            long nanos = median(samples);
            isKept = keep(new Candidate(values, calibrated, nanos));
            return new TuningTrial(Verdict.MEASURED, Duration.ofNanos(nanos), "");
        } catch (DriverException e) {
            return failed(Verdict.REFUSED, e.getMessage());
        } finally {
            if (!isKept) {
                loaded.close();
            }
        }
    }

    private TuningTrial failed(Verdict verdict, @Nullable String message) {
        String reason = String.valueOf(message);
        if (firstFailure.isEmpty()) {
            firstFailure = reason.lines().findFirst().orElse("");
        }
        return new TuningTrial(verdict, Duration.ZERO, reason);
    }

    /** Keeps a plan if it is among the best; returns false if it is not. */
    private boolean keep(Candidate candidate) {
        if (best.isEmpty()
                || candidate.nanos()
                        < best.getFirst().nanos() - best.getFirst().nanos() / LEAST_IMPROVEMENT) {
            sinceImprovement = 0;
        }
        best.add(candidate);
        best.sort(Comparator.comparingLong(Candidate::nanos));
        if (best.size() <= FINALISTS) {
            return true;
        }
        Candidate last = best.removeLast();
        if (last == candidate) {
            return false;
        }
        last.loaded().close();
        return true;
    }

    /** Measures the best plans and the naive one in turns. */
    private TuningOutcome outcome() {
        List<long[]> times = new ArrayList<>(); // of a round: the naive plan, then the best ones
        long finalStart = clock.nanos();
        while (times.size() < settings.rounds()
                && (times.size() < LEAST_ROUNDS || clock.nanos() - finalStart < FINAL_NANOS)) {
            long[] round = new long[best.size() + 1];
            round[0] = Math.max(1, measurer.sample(measurer.naive()));
            for (int i = 0; i < best.size(); i++) {
                round[i + 1] = Math.max(1, measurer.sample(best.get(i).loaded()));
            }
            times.add(round);
        }
        int winner = 1;
        for (int i = 2; i <= best.size(); i++) {
            winner = median(ratios(times, i)) < median(ratios(times, winner)) ? i : winner;
        }
        Candidate chosen = best.get(winner - 1);
        long[] ratios = ratios(times, winner);
        return new TuningOutcome(
                chosen.values(),
                PlanTuner.sourceHash(chosen.loaded().plan()),
                Duration.ofNanos(median(column(times, winner))),
                Duration.ofNanos(median(column(times, 0))),
                median(ratios),
                spread(ratios),
                times.size(),
                counts,
                space.size(),
                settings.seed(),
                Duration.ofNanos(Math.max(0, clock.nanos() - start)));
    }

    /** Returns the ratios of a plan to the naive one in ascending order, in parts per billion. */
    private static long[] ratios(List<long[]> times, int plan) {
        return times.stream()
                .mapToLong(round -> Math.max(
                        1, Math.round((double) TuningOutcome.ONE * round[plan] / round[0])))
                .sorted()
                .toArray();
    }

    /** Returns the uncertainty of the median of values in ascending order. */
    private static long spread(long[] values) {
        long middleHalf = values[values.length * 3 / 4] - values[values.length / 4];
        return Math.round(middleHalf / Math.sqrt(values.length));
    }

    private static long[] column(List<long[]> times, int plan) {
        return times.stream().mapToLong(round -> round[plan]).toArray();
    }

    private static long median(long[] values) {
        long[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
