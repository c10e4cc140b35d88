package dev.granary.coordinator.lookup;

import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.coordinator.claim.CompileClaim;
import dev.granary.coordinator.dispatch.EventDispatcher;
import dev.granary.coordinator.dispatch.EventKind;
import dev.granary.coordinator.dispatch.EventSpan;
import dev.granary.coordinator.event.CompileEvent;
import dev.granary.coordinator.lookup.PrimitiveLookup.Step;
import dev.granary.coordinator.publish.WriteBehindQueue;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.coordinator.toml.SafeText;

import java.time.Duration;
import java.util.Optional;

/**
 * Compiler of the source of one lookup: it measures and counts the compile, and passes the
 * primitive to the {@link WriteBehindQueue}. Used by one thread.
 */
final class PrimitiveCompiler<D extends PrimitiveDescriptor, P extends Primitive> {
    private final LookupTiers tiers;
    private final Engine<D, P> engine;
    private final D descriptor;
    private final Step step;
    private final EntryRestorer<D, P> restorer;

    /** A compile that has succeeded, and its duration in nanoseconds. */
    private record Compiled<P>(P primitive, long nanos) {}

    /** A way to create the primitive from its source. */
    @FunctionalInterface
    private interface Creation<P> {
        P create() throws CompileException;
    }

    /**
     * Creates a compiler.
     *
     * @param restorer the restorer of this lookup, which may have left entries whose rejection
     *     depends on the compile
     */
    PrimitiveCompiler(
            LookupTiers tiers,
            Engine<D, P> engine,
            D descriptor,
            Step step,
            EntryRestorer<D, P> restorer) {
        this.tiers = tiers;
        this.engine = engine;
        this.descriptor = descriptor;
        this.step = step;
        this.restorer = restorer;
    }

    /** Compiles all steps, and stores nothing. */
    P compileUncached() throws CompileException {
        return measure(() -> engine.create(descriptor)).primitive();
    }

    /**
     * Compiles; the {@link EarlierSteps} are looked up. Write-behind receives the primitive and the
     * claim.
     */
    P compile(CompileClaim claim) throws CompileException {
        Compiled<P> compiled = measure(this::createByEarlierSteps);
        P primitive = compiled.primitive();
        tiers.layers()
                .compileTimes()
                .compiled(Math.max(compiled.nanos(), primitive.compileTime().toNanos()));
        tiers.writeBehind().compiled(primitive, compiled.nanos(), claim);
        return primitive;
    }

    private P createByEarlierSteps() throws CompileException {
        try (EarlierSteps steps = new EarlierSteps(tiers)) {
            return engine.create(descriptor, steps);
        }
    }

    private Compiled<P> measure(Creation<P> creation) throws CompileException {
        EventSpan span = tiers.events().begin(EventKind.COMPILE);
        long start = System.nanoTime();
        try {
            P primitive = creation.create();
            span.stop();
            restorer.rejectIncomplete();
            long nanos = System.nanoTime() - start;
            switch (step) {
                case LAST -> {
                    tiers.counters().increment(LookupCounter.COMPILED);
                    tiers.counters().add(LookupCounter.COMPILE_TIME, nanos);
                }
                case EARLIER -> tiers.counters().increment(LookupCounter.INTERMEDIATE_COMPILED);
            }
            span.end(_ -> event(Optional.empty(), Duration.ofNanos(nanos)));
            return new Compiled<>(primitive, nanos);
        } catch (CompileException e) {
            if (step == Step.LAST) {
                tiers.counters().increment(LookupCounter.COMPILE_FAILURES);
            }
            span.end(took ->
                    event(Optional.of(SafeText.inOneLine(String.valueOf(e.getMessage()))), took));
            throw e;
        }
    }

    private CompileEvent event(Optional<String> failure, Duration took) {
        return new CompileEvent(
                EventDispatcher.digest(descriptor.getId()), engine.target(), failure, took);
    }
}
