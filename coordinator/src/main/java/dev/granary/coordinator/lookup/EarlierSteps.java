package dev.granary.coordinator.lookup;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Id;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.StepProvider;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.claim.CompileClaim;
import dev.granary.coordinator.session.RestoreQuarantine;
import dev.granary.coordinator.statistics.LookupCounter;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

/**
 * The earlier steps of one compile, such as its intermediate program. Each is a lookup through all
 * tiers. The compile has its own claim meanwhile, and that of each step until its program is
 * stored. Used by one thread.
 *
 * <p>A driver reads the restored programs until the compile ends. So their marks of the
 * {@link RestoreQuarantine} stay until {@link #close}.
 */
final class EarlierSteps implements StepProvider, AutoCloseable {
    private final LookupTiers tiers;
    private final Map<Id, PrimitiveLookup.StoredStep> restored = new HashMap<>();
    private final Deque<RestoreQuarantine.Restore> marks = new ArrayDeque<>();

    EarlierSteps(LookupTiers tiers) {
        this.tiers = tiers;
    }

    @Override
    public <D extends PrimitiveDescriptor, P extends Primitive> P obtain(
            Engine<D, P> engine, D descriptor) throws CompileException {
        PrimitiveLookup<D, P> lookup =
                new PrimitiveLookup<>(tiers, engine, descriptor, PrimitiveLookup.Step.EARLIER);
        P primitive = lookup.find();
        lookup.stored().ifPresent(step -> {
            restored.put(step.entry().id(), step);
            tiers.quarantine().ifPresent(quarantine -> marks.push(quarantine.begin(step.entry())));
        });
        return primitive;
    }

    @Override
    public void replaced(Primitive refused, Primitive compiled) {
        PrimitiveLookup.StoredStep step = restored.get(refused.descriptor().getId());
        if (step == null || compiled.getBinaries(BinaryKind.KERNEL).isEmpty()) {
            return;
        }
        tiers.counters().increment(LookupCounter.REFUSED_BY_DRIVER);
        tiers.counters().increment(LookupCounter.INTERMEDIATE_COMPILED);
        LogOnce.warn(
                "intermediate",
                "The driver refused a stored intermediate program, which is discarded and compiled"
                        + " again: " + refused.descriptor().name());
        step.discard().accept(step.entry());
        // the time is part of the compile that these steps belong to
        tiers.writeBehind().compiled(compiled, compiled.compileTime().toNanos(), CompileClaim.NONE);
    }

    /** Ends the restores, which the process has survived. */
    @Override
    public void close() {
        marks.forEach(RestoreQuarantine.Restore::close);
    }
}
