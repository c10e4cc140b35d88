package dev.granary.coordinator;

import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.dispatch.EventDispatcher;
import dev.granary.coordinator.lookup.LookupTiers;
import dev.granary.coordinator.lookup.PrimitiveLookup;
import dev.granary.coordinator.recording.KernelRecorder;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.gpu.composite.CompositeCache;
import dev.granary.gpu.composite.CompositeDescriptor;
import dev.granary.gpu.composite.CompositePrimitive;
import dev.granary.gpu.composite.CompositeStatistics;
import dev.granary.gpu.composite.EngineSet;
import dev.granary.gpu.composite.KernelProvider;

import java.util.Optional;

/**
 * The memory tier: the programs of this process, and the composite primitives made of them.
 * Thread-safe.
 */
final class MemoryTier {
    private static final String NAME = "memory";

    private final PrimitiveCache<PrimitiveDescriptor, Primitive> programs;
    private final CompositeCache composites;
    private final LookupCounters counters;
    private final Optional<KernelRecorder> recorder;

    /**
     * Creates an empty tier.
     *
     * @param kernels obtains the programs of composite primitives, through this tier
     */
    MemoryTier(
            GranaryConfig config,
            KernelProvider kernels,
            LookupCounters counters,
            Optional<KernelRecorder> recorder,
            EventDispatcher events) {
        this.programs = new PrimitiveCache<>(
                config.primitiveCacheCapacity(),
                () -> events.beginEviction(NAME, counters, LookupCounter.MEMORY_EVICTED));
        this.composites =
                new CompositeCache(new PrimitiveCache<>(config.primitiveCacheCapacity()), kernels);
        this.counters = counters;
        this.recorder = recorder;
    }

    /** Returns the program of {@code descriptor}, from memory, else from the tiers below. */
    @SuppressWarnings("unchecked") // the key is the descriptor
    <D extends PrimitiveDescriptor, P extends Primitive> P program(
            LookupTiers tiers, Engine<D, P> engine, D descriptor) throws CompileException {
        // Captures three values only, so that a hit allocates no more than one of the cache alone.
        return cast(programs.get(
                descriptor, key -> retain(tiers.lookup(engine, (D) key).find())));
    }

    /** Returns the program of {@code descriptor}, from memory, else by that lookup. */
    <D extends PrimitiveDescriptor, P extends Primitive> P program(
            PrimitiveLookup<D, P> lookup, D descriptor) throws CompileException {
        return cast(programs.get(descriptor, _ -> retain(lookup.find())));
    }

    /**
     * Prepares a primitive for this tier, from which engines that do not exist yet will load it,
     * and records it. A hit of this tier was recorded when it came here.
     */
    private <P extends Primitive> P retain(P primitive) {
        recorder.ifPresent(recording -> recording.record(primitive.descriptor()));
        primitive.onCompiledAgain(() -> counters.increment(LookupCounter.COMPILED_AGAIN));
        primitive.outliveEngine();
        return primitive;
    }

    /**
     * Casts a cached primitive to the type of the engine: a descriptor belongs to one kind of
     * engine.
     */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <P extends Primitive> P cast(Primitive primitive) {
        return (P) primitive;
    }

    /** Returns the composite primitive of {@code descriptor}. */
    CompositePrimitive composite(EngineSet engines, CompositeDescriptor<?> descriptor)
            throws CompileException {
        return composites.primitive(engines, descriptor);
    }

    /** Returns the largest number of programs. */
    int programCapacity() {
        return programs.capacity();
    }

    /** Returns the number of programs. */
    int programCount() {
        return programs.size();
    }

    /** Returns the number of lookups that found their program here. */
    long programHits() {
        return programs.hits();
    }

    /** Returns the number of lookups that did not. */
    long programMisses() {
        return programs.misses();
    }

    /** Sets the largest number of programs; a lower one evicts at once. */
    void setProgramCapacity(int capacity) {
        programs.setCapacity(capacity);
    }

    /** Sets the largest number of composite primitives; a lower one evicts at once. */
    void setCompositeCapacity(int capacity) {
        composites.setCapacity(capacity);
    }

    /** Returns the counters and the size of the composite primitives. */
    CompositeStatistics composites() {
        return composites.statistics();
    }
}
