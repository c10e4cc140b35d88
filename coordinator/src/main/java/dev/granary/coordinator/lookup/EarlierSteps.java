package dev.granary.coordinator.lookup;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Engine.StepProvider;
import dev.granary.cache.Id;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.machine.MachineClaims.Claim;
import dev.granary.coordinator.machine.RestoreQuarantine;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.tier.Found;

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
    private final LookupContext context;
    private final Map<Id, Found.Stored> restored = new HashMap<>();
    private final Deque<RestoreQuarantine.Restore> marks = new ArrayDeque<>();

    EarlierSteps(LookupContext context) {
        this.context = context;
    }

    @Override
    public <D extends PrimitiveDescriptor, P extends Primitive> P lookup(
            Engine<D, P> engine, D descriptor) throws CompileException {
        Found<P> found = context.find(engine, descriptor, LookupContext.Step.EARLIER);
        found.origin().ifPresent(stored -> {
            restored.put(stored.entry().id(), stored);
            marks.push(context.beginRestore().apply(stored.entry()));
        });
        return found.primitive();
    }

    @Override
    public void replaced(Primitive refused, Primitive compiled) {
        Found.Stored step = restored.get(refused.descriptor().getId());
        if (step == null || compiled.getBinaries(BinaryKind.KERNEL).isEmpty()) {
            return;
        }
        context.counters().increment(Counter.RESTORES_REFUSED);
        context.counters().increment(Counter.INTERMEDIATE_COMPILED);
        Warnings.warn(
                "intermediate",
                "The driver refused a stored intermediate program, which is discarded and compiled"
                        + " again: " + refused.descriptor().name());
        step.tier().discard(step.entry());
        context.local().discard(step.entry()); // a hit of a layer was stored there
        // the time is part of the compile that these steps belong to
        context.writeBehind()
                .ifPresent(queue ->
                        queue.compiled(compiled, compiled.compileTime().toNanos(), Claim.NONE));
    }

    /** Ends the restores, which the process has survived. */
    @Override
    public void close() {
        marks.forEach(RestoreQuarantine.Restore::close);
    }
}
