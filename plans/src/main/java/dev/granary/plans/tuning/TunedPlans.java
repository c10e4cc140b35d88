package dev.granary.plans.tuning;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Deadline;
import dev.granary.cache.Engine;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.plans.tuning.TunedPlan.TuningDescriptor;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * The tuned plans of a cache. An outcome is looked up and stored as a binary is, with a tuning in
 * place of the compile, so one machine of a fleet tunes. Thread-safe; it needs no closing.
 *
 * <p>A better outcome of {@link #tuneAgain} is the next revision of the first one. If two machines
 * tune at the same time, the first outcome in the bucket stays.
 */
public final class TunedPlans {
    private static final Deadline LOCAL_ONLY = Deadline.after(Duration.ZERO);

    private final Granary granary;

    /** Creates the tuned plans of {@code granary}, which the caller closes. */
    public TunedPlans(Granary granary) {
        this.granary = granary;
    }

    /** A tuning, for a key of which no tier has an outcome. */
    @FunctionalInterface
    private interface Tuning {
        TunedPlan tune(TuningDescriptor descriptor) throws CompileException;
    }

    /** An engine that restores outcomes, and tunes in place of compiling. */
    private record Outcomes(Target target, Tuning tuning)
            implements Engine<TuningDescriptor, TunedPlan> {
        @Override
        public TunedPlan create(TuningDescriptor descriptor) throws CompileException {
            return tuning.tune(descriptor);
        }

        @Override
        public TunedPlan create(
                TuningDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
                throws RestoreException {
            return TunedPlan.restore(descriptor, binaries);
        }

        @Override
        public void close() {}
    }

    /**
     * Returns the best plan of {@code space} for the device of {@code tuner}. Tunes if no tier has
     * an outcome.
     *
     * @throws CompileException if no plan of the space gives right results
     */
    public TunedPlan plan(PlanTuner tuner, PlanSpace space) throws CompileException {
        return lookup(tuner, space).primitive();
    }

    /** Returns the same as {@link #plan}, with its source and the time of the lookup. */
    public LookupResult<TunedPlan> lookup(PlanTuner tuner, PlanSpace space)
            throws CompileException {
        long start = System.nanoTime();
        TuningDescriptor first = TuningDescriptor.of(space, tuner.target());
        // a local outcome ends the search, so no bucket delays it
        Optional<LookupResult<TunedPlan>> local = granary.find(reader(first), first, LOCAL_ONLY);
        if (local.isPresent()) {
            return result(local.get(), newest(first.revision(1), LOCAL_ONLY), start);
        }
        // beside the request for the first revision, so that a hit takes the time of one
        CompletableFuture<Optional<TunedPlan>> later = CompletableFuture.supplyAsync(
                () -> newest(first.revision(1), Deadline.NONE), Thread::startVirtualThread);
        return result(
                granary.lookup(
                        new Outcomes(first.target(), key -> tuneFirst(tuner, key, later.join())),
                        first),
                later.join(),
                start);
    }

    /** Returns the result with the newest revision. */
    private static LookupResult<TunedPlan> result(
            LookupResult<TunedPlan> first, Optional<TunedPlan> later, long start) {
        return new LookupResult<>(
                later.orElse(first.primitive()),
                first.source(),
                first.layer(),
                first.from(),
                Duration.ofNanos(System.nanoTime() - start),
                first.waited());
    }

    /** Tunes, unless only the first outcome is lost: a rule of age removes it before the others. */
    private TunedPlan tuneFirst(PlanTuner tuner, TuningDescriptor first, Optional<TunedPlan> later)
            throws CompileException {
        return later.isPresent() ? later.get().revision(0) : tune(tuner, first);
    }

    /** Tunes without the plans during whose trial a process ended. */
    private TunedPlan tune(PlanTuner tuner, TuningDescriptor descriptor) throws CompileException {
        return tuner.guard(source -> granary.beginTrial(descriptor.getId(), source))
                .create(descriptor);
    }

    /**
     * Returns the stored plan of {@code space} for a target; empty if no tier has an outcome. Never
     * tunes.
     */
    public Optional<TunedPlan> find(PlanSpace space, Target target) {
        return newest(TuningDescriptor.of(space, target), Deadline.NONE);
    }

    /**
     * Tunes even if a tier has an outcome. The new outcome is stored and published if it is better
     * by more than the spread.
     *
     * @return the better plan; of the origin {@code COMPILED} if it is the new one
     * @throws CompileException if no plan of the space gives right results
     */
    public TunedPlan tuneAgain(PlanTuner tuner, PlanSpace space) throws CompileException {
        TuningDescriptor first = TuningDescriptor.of(space, tuner.target());
        TunedPlan own = tune(tuner, first);
        Optional<TunedPlan> stored = newest(first, Deadline.NONE);
        int revision = stored.map(plan -> plan.descriptor().revision() + 1).orElse(0);
        boolean isStored = revision < TuningDescriptor.MAX_REVISIONS
                && stored.filter(plan -> !own.outcome().isBetterThan(plan.outcome()))
                        .isEmpty();
        return isStored
                ? granary.primitive(
                        new Outcomes(first.target(), key -> own.revision(key.revision())),
                        first.revision(revision))
                : stored.orElse(own);
    }

    /**
     * Returns the newest usable revision from that of {@code first}. Revisions are consecutive;
     * only the first one may be absent before others.
     */
    private Optional<TunedPlan> newest(TuningDescriptor first, Deadline deadline) {
        Optional<TunedPlan> newest = Optional.empty();
        for (int i = first.revision(); i < TuningDescriptor.MAX_REVISIONS; i++) {
            TuningDescriptor key = first.revision(i);
            Optional<LookupResult<TunedPlan>> found = granary.find(reader(key), key, deadline);
            if (found.isPresent()) {
                newest = Optional.of(found.get().primitive());
            } else if (i > 0) {
                break;
            }
        }
        return newest;
    }

    private static Outcomes reader(TuningDescriptor key) {
        return new Outcomes(key.target(), descriptor -> {
            throw new IllegalStateException("A search tunes nothing: " + descriptor);
        });
    }
}
