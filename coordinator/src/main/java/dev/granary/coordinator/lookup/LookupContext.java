package dev.granary.coordinator.lookup;

import dev.granary.cache.CompileException;
import dev.granary.cache.Deadline;
import dev.granary.cache.Engine;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.machine.MachineClaims;
import dev.granary.coordinator.machine.RestoreQuarantine;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.observe.EventKind;
import dev.granary.coordinator.observe.EventSpan;
import dev.granary.coordinator.publish.WriteBehindQueue;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.tier.CountedTier;
import dev.granary.coordinator.tier.Found;
import dev.granary.coordinator.tier.Tiers;

import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The tiers below the memory tier, and the other objects that lookups share. Thread-safe.
 *
 * @param isInQuarantine whether an entry must not be restored
 * @param beginRestore begins a restore, as {@link RestoreQuarantine#begin} does
 * @param claims claims an id, as {@link MachineClaims#claim} does
 * @param fleet the claims between machines; empty without a bucket for them
 * @param writeBehind the work after a lookup; empty if nothing is stored
 * @param isEnabled whether lookups of an engine go beyond memory
 */
public record LookupContext(
        Tiers tiers,
        Predicate<Entry> isInQuarantine,
        Function<Entry, RestoreQuarantine.Restore> beginRestore,
        BiFunction<Id, Supplier<LoadResult>, MachineClaims.Outcome> claims,
        Optional<FleetClaims> fleet,
        Optional<WriteBehindQueue> writeBehind,
        Counters counters,
        EventDispatcher events,
        Predicate<Engine<?, ?>> isEnabled) {
    /** The place of a lookup in a compile of several steps. */
    enum Step {
        /** The lookup of a caller. */
        LAST,
        /** A lookup within the compile of another one, which counts failures. */
        EARLIER
    }

    CountedTier local() {
        return tiers.local();
    }

    /**
     * Returns the primitive of {@code descriptor}, from the tiers or compiled.
     *
     * @throws CompileException if no tier had the primitive and its source does not compile
     * @throws IllegalArgumentException if the descriptor is for another target than the engine's
     */
    public <D extends PrimitiveDescriptor, P extends Primitive> Found<P> find(
            Engine<D, P> engine, D descriptor) throws CompileException {
        return find(engine, descriptor, Step.LAST);
    }

    <D extends PrimitiveDescriptor, P extends Primitive> Found<P> find(
            Engine<D, P> engine, D descriptor, Step step) throws CompileException {
        return run(engine, descriptor, step, lookup -> lookup.find(true)).orElseThrow();
    }

    /**
     * Returns the same as {@link #find(Engine, PrimitiveDescriptor)}; empty if another machine is
     * compiling the primitive and its entry is not there yet.
     */
    public <D extends PrimitiveDescriptor, P extends Primitive> Optional<Found<P>> findUnclaimed(
            Engine<D, P> engine, D descriptor) throws CompileException {
        return run(engine, descriptor, Step.LAST, lookup -> lookup.find(false));
    }

    /** Returns the primitive of {@code descriptor} if a tier has it in time; never compiles. */
    public <D extends PrimitiveDescriptor, P extends Primitive> Optional<Found<P>> findStored(
            Engine<D, P> engine, D descriptor, Deadline deadline) throws CompileException {
        return run(engine, descriptor, Step.LAST, lookup -> lookup.findStored(deadline));
    }

    @FunctionalInterface
    private interface Search<D extends PrimitiveDescriptor, P extends Primitive> {
        Optional<Found<P>> run(Lookup<D, P> lookup) throws CompileException;
    }

    private <D extends PrimitiveDescriptor, P extends Primitive> Optional<Found<P>> run(
            Engine<D, P> engine, D descriptor, Step step, Search<D, P> search)
            throws CompileException {
        EventSpan span = events.begin(EventKind.LOOKUP);
        Optional<Found<P>> found = Optional.empty();
        try {
            found = search.run(new Lookup<>(this, engine, descriptor, step));
            return found;
        } finally {
            Optional<PrimitiveSource> source = found.map(Found::source);
            Optional<Found.Stored> origin = found.flatMap(Found::origin);
            span.end(took -> new GranaryEvent.Lookup(
                    EventDispatcher.digest(descriptor.getId()),
                    engine.target(),
                    source,
                    origin.filter(stored -> stored.layer().isPresent())
                            .map(stored -> stored.tier().name()),
                    origin.map(stored -> stored.entry().binaries().byteSize()).orElse(0L),
                    took));
        }
    }
}
