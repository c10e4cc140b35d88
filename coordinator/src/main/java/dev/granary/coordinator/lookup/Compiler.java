package dev.granary.coordinator.lookup;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Engine.StepProvider;
import dev.granary.cache.Id;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.machine.MachineClaims.Claim;
import dev.granary.coordinator.machine.RestoreQuarantine;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.observe.EventDispatcher.Span;
import dev.granary.coordinator.observe.EventKind;
import dev.granary.coordinator.publish.WriteBehindQueue;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.tier.Found;
import dev.granary.coordinator.toml.SafeText;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Compiler of the source of one lookup: it measures and counts the compile, and passes the
 * primitive to {@link WriteBehindQueue}. Used by one thread.
 */
record Compiler<D extends PrimitiveDescriptor, P extends Primitive>(
        LookupContext context, Engine<D, P> engine, D descriptor, Lookup.Step step) {
    /** A compile that has succeeded, and its counted time in nanoseconds. */
    private record Compiled<P>(P primitive, long nanos) {}

    @FunctionalInterface
    private interface Creation<P> {
        P create() throws CompileException;
    }

    /** Compiles all steps, counts the reason, and stores nothing. */
    Found<P> withoutTiers(Counter reason) throws CompileException {
        context.counters().increment(reason);
        return new Found<>(measure(() -> engine.create(descriptor)).primitive(), Optional.empty());
    }

    /**
     * Compiles; the {@link EarlierSteps} are looked up. Write-behind receives the primitive and the
     * claim.
     */
    Found<P> compile(Claim claim) throws CompileException {
        Compiled<P> compiled = measure(this::createByEarlierSteps);
        P primitive = compiled.primitive();
        engine.requireTarget(primitive.descriptor()); // the entry would be of its target
        context.tiers().compileTimes().compiled(compiled.nanos());
        context.writeBehind()
                .ifPresent(queue -> queue.compiled(primitive, compiled.nanos(), claim));
        return new Found<>(primitive, Optional.empty());
    }

    private P createByEarlierSteps() throws CompileException {
        try (EarlierSteps steps = new EarlierSteps(context)) {
            return engine.create(descriptor, steps);
        }
    }

    private Compiled<P> measure(Creation<P> creation) throws CompileException {
        Span span = context.events().begin(EventKind.COMPILE);
        try {
            P primitive = creation.create();
            long nanos = primitive.compileTime().toNanos(); // without lookups of earlier steps
            context.counters().add(Counter.COMPILE_TIME, nanos);
            context.counters()
                    .increment(
                            step == Lookup.Step.LAST
                                    ? Counter.COMPILED
                                    : Counter.INTERMEDIATE_COMPILED);
            end(span, Optional.empty());
            return new Compiled<>(primitive, nanos);
        } catch (CompileException e) {
            if (step == Lookup.Step.LAST) {
                context.counters().increment(Counter.COMPILE_FAILURES);
                Warnings.warn(
                        "compile",
                        SafeText.inOneLine(e.getMessage()
                                + " (each lookup of such a kernel compiles again in vain)"));
            }
            end(span, Optional.of(SafeText.inOneLine(String.valueOf(e.getMessage()))));
            throw e;
        } catch (RuntimeException | Error e) { // a broken engine
            end(span, Optional.of(SafeText.inOneLine(e.toString())));
            throw e;
        }
    }

    private void end(Span span, Optional<String> failure) {
        span.end(took -> new GranaryEvent.Compile(
                EventDispatcher.digest(descriptor.getId()), engine.target(), failure, took));
    }

    /**
     * The earlier steps of one compile, such as its intermediate program. Each is a lookup through
     * all tiers. The compile has its own claim meanwhile, and that of each step until its program
     * is stored. Used by one thread.
     *
     * <p>A driver reads the restored programs until the compile ends. So their marks of the
     * {@link RestoreQuarantine} stay until {@link #close}.
     */
    private static final class EarlierSteps implements StepProvider, AutoCloseable {
        private final LookupContext context;
        private final Map<Id, Found.Stored> restored = new HashMap<>();
        private final Deque<RestoreQuarantine.Restore> marks = new ArrayDeque<>();

        EarlierSteps(LookupContext context) {
            this.context = context;
        }

        @Override
        public <D extends PrimitiveDescriptor, P extends Primitive> P lookup(
                Engine<D, P> engine, D descriptor) throws CompileException {
            Found<P> found = new Lookup<>(context, engine, descriptor, Lookup.Step.EARLIER).find();
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
                    "The driver refused a stored intermediate program, which is discarded and"
                            + " compiled again: " + refused.descriptor().name());
            step.tier().discard(step.entry());
            context.local().discard(step.entry()); // a hit of a layer was stored there
            context.writeBehind().ifPresent(queue -> queue.compiled(compiled, 0, Claim.NONE));
        }

        /** Ends the restores, which the process has survived. */
        @Override
        public void close() {
            marks.forEach(RestoreQuarantine.Restore::close);
        }
    }
}
