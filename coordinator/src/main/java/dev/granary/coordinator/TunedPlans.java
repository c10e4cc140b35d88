package dev.granary.coordinator;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.cache.support.Lazy;
import dev.granary.coordinator.claim.CompileClaim;
import dev.granary.coordinator.lookup.LookupTiers;
import dev.granary.coordinator.lookup.PrimitiveLookup;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.tuning.OutcomeRevisions;
import dev.granary.gpu.plan.tuning.PlanSpace;
import dev.granary.gpu.plan.tuning.PlanTuner;
import dev.granary.gpu.plan.tuning.TunedPlan;
import dev.granary.gpu.plan.tuning.TuningDescriptor;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/**
 * The tuned plans of a cache. An outcome is looked up and stored as a binary is, with a tuning in
 * place of the compile, so one machine of a fleet tunes. Thread-safe.
 *
 * <p>If two machines tune at the same time, the first outcome in the bucket stays unless the second
 * one {@linkplain dev.granary.gpu.plan.tuning.TuningOutcome#isBetterThan is better} by more than
 * the spread. Then the second becomes the next revision. Its conditional write fails if there is
 * another one by then; the merge is repeated with that.
 */
public final class TunedPlans {
    private final LookupTiers tiers;
    private final MemoryTier memory;
    private final BiConsumer<Id, StoreResult> whenPublished;
    private final OutcomeRevisions revisions;
    // of this process, without a result of their publication so far
    private final Map<Id, TunedPlan> unpublished = new ConcurrentHashMap<>();
    // plans of later revisions than the one in memory
    private final Map<TuningDescriptor, TunedPlan> newest = new ConcurrentHashMap<>();

    TunedPlans(LookupTiers tiers, MemoryTier memory, BiConsumer<Id, StoreResult> whenPublished) {
        this.tiers = tiers;
        this.memory = memory;
        this.whenPublished = whenPublished;
        this.revisions = new OutcomeRevisions(tiers);
    }

    /** An engine that tunes, unless another process of the machine has done so meanwhile. */
    private final class MachineTuner implements Engine<TuningDescriptor, TunedPlan> {
        private final PlanTuner tuner;
        private final Supplier<Optional<TunedPlan>> later;

        /**
         * Creates an engine.
         *
         * @param later returns the newest of the later revisions in the layers
         */
        MachineTuner(PlanTuner tuner, Supplier<Optional<TunedPlan>> later) {
            this.tuner = tuner;
            this.later = later;
        }

        @Override
        public Target target() {
            return tuner.target();
        }

        @Override
        public TunedPlan create(TuningDescriptor descriptor) throws CompileException {
            if (!tiers.enabled().isOn(this)) {
                return tune(tuner, descriptor);
            }
            // revision 0 is the oldest: a rule of age removes it before the others
            Optional<TunedPlan> stored = later.get();
            TunedPlan chosen = (stored.isPresent() ? stored.get() : tuneHere(descriptor))
                    .revision(descriptor.revision());
            unpublished.put(descriptor.getId(), chosen);
            return chosen;
        }

        private TunedPlan tuneHere(TuningDescriptor descriptor) throws CompileException {
            TunedPlan own = tune(tuner, descriptor);
            return revisions
                    .local(descriptor)
                    .filter(theirs -> !own.outcome().isBetterThan(theirs.outcome()))
                    .orElse(own);
        }

        @Override
        public TunedPlan create(
                TuningDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
                throws RestoreException {
            return tuner.create(descriptor, binaries, kind);
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
        return obtain(tuner, space).primitive();
    }

    /** Returns the same as {@link #plan}, with its source and the time of the lookup. */
    public LookupResult<TunedPlan> obtain(PlanTuner tuner, PlanSpace space)
            throws CompileException {
        long start = System.nanoTime();
        TuningDescriptor descriptor = TuningDescriptor.of(space, tuner.target());
        TunedPlan known = newest.get(descriptor);
        if (known != null) {
            return new LookupResult<>(
                    known,
                    PrimitiveSource.MEMORY,
                    OptionalInt.empty(),
                    Optional.empty(),
                    Duration.ofNanos(System.nanoTime() - start));
        }
        // at the same time as revision 0, so that a hit takes the time of one request
        Lazy<OutcomeRevisions.Request> second =
                new Lazy<>(() -> revisions.request(descriptor.revision(1)));
        PrimitiveLookup<TuningDescriptor, TunedPlan> lookup =
                tiers.lookup(new MachineTuner(tuner, () -> second.get().newest()), descriptor);
        lookup.beforeLayers(second::get);
        TunedPlan first = memory.program(lookup, descriptor);
        Optional<TunedPlan> later =
                switch (lookup.source()) {
                    case MEMORY, COMPILED -> Optional.empty();
                    case LOCAL -> revisions.local(descriptor.revision(1));
                    case BUCKET -> second.get().newest();
                };
        later.ifPresent(plan -> newest.put(descriptor, plan));
        return new LookupResult<>(
                newest.getOrDefault(descriptor, first),
                lookup.source(),
                lookup.layer(),
                lookup.from(),
                Duration.ofNanos(System.nanoTime() - start));
    }

    /**
     * Returns the stored plan of {@code space} for a target, from the local tier, else from the
     * layers; empty if no tier has an outcome. Never tunes.
     */
    public Optional<TunedPlan> find(PlanSpace space, Target target) {
        TuningDescriptor descriptor = TuningDescriptor.of(space, target);
        return revisions.local(descriptor).or(() -> revisions.inLayers(descriptor));
    }

    /**
     * Tunes even if a tier has an outcome. The new outcome is stored and published if it is better
     * by more than the spread.
     *
     * @return the better plan; of the origin {@code COMPILED} if it is the new one
     * @throws CompileException if no plan of the space gives right results
     */
    public TunedPlan tuneAgain(PlanTuner tuner, PlanSpace space) throws CompileException {
        TuningDescriptor descriptor = TuningDescriptor.of(space, tuner.target());
        TunedPlan own = tune(tuner, descriptor);
        if (!tiers.enabled().isOn(tuner)) {
            return own;
        }
        Optional<TunedPlan> local = revisions.local(descriptor);
        Optional<TunedPlan> shared = revisions.inLayers(descriptor).or(() -> local);
        TunedPlan best = local.filter(theirs -> !own.outcome().isBetterThan(theirs.outcome()))
                .orElse(own);
        return shared.isEmpty() ? publish(own) : merge(best, shared.get());
    }

    /** Tunes without the plans during whose trial a process ended. */
    private TunedPlan tune(PlanTuner tuner, TuningDescriptor descriptor) throws CompileException {
        return tiers.quarantine()
                .map(quarantine -> tuner.guard(source -> quarantine
                        .beginTrial(descriptor.getId().hash(), source)
                        .map(trial -> trial::close)))
                .orElse(tuner)
                .create(descriptor);
    }

    /** Returns the better of two plans, of which the first one is published if it is better. */
    private TunedPlan merge(TunedPlan own, TunedPlan shared) {
        TuningDescriptor first = shared.descriptor().revision(0);
        TunedPlan better = shared;
        if (own.outcome().isBetterThan(shared.outcome())
                && shared.descriptor().revision() + 1 < TuningDescriptor.MAX_REVISIONS) {
            better = publish(own.revision(shared.descriptor().revision() + 1));
        }
        newest.put(first, better);
        return better;
    }

    private TunedPlan publish(TunedPlan plan) {
        unpublished.put(plan.descriptor().getId(), plan);
        // its time is no compile of a lookup, and so not counted
        tiers.writeBehind().compiled(plan, plan.compileTime().toNanos(), CompileClaim.NONE);
        return plan;
    }

    /** Receives the result of a publication, on the thread that has published. */
    void published(Id id, StoreResult result) {
        TunedPlan own = unpublished.remove(id);
        boolean isAnotherThere =
                result instanceof StoreResult.Divergent || result instanceof StoreResult.Duplicate;
        if (own != null && isAnotherThere) {
            // empty if the layer does not answer: then the first outcome stays
            revisions
                    .inLayers(own.descriptor().revision(0))
                    .filter(shared -> !shared.outcome().equals(own.outcome()))
                    .ifPresent(shared -> merge(own, shared));
        }
        whenPublished.accept(id, result);
    }
}
