package dev.granary.coordinator;

import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.lookup.Lookup;
import dev.granary.coordinator.lookup.Lookup.Search;
import dev.granary.coordinator.lookup.LookupContext;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.recording.KernelRecorder;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.tier.Found;
import dev.granary.gpu.composite.CompositeCache;
import dev.granary.gpu.composite.CompositeCache.CompositeStatistics;
import dev.granary.gpu.composite.CompositeCache.KernelProvider;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The memory tier: the programs of this process, and the composite primitives made of them.
 * Thread-safe.
 */
final class MemoryTier {
    private static final String NAME = "memory";

    final PrimitiveCache<PrimitiveDescriptor, Primitive> programs;
    final CompositeCache composites;
    private final Counters counters;
    private final Optional<KernelRecorder> recorder;

    MemoryTier(
            GranaryConfig config,
            KernelProvider kernels,
            Counters counters,
            Optional<KernelRecorder> recorder,
            EventDispatcher events) {
        this.programs = new PrimitiveCache<>(
                config.primitiveCacheCapacity(),
                () -> events.beginEviction(NAME, Counter.PROGRAMS_EVICTED));
        this.composites =
                new CompositeCache(new PrimitiveCache<>(config.primitiveCacheCapacity()), kernels);
        this.counters = counters;
        this.recorder = recorder;
    }

    /** Returns the program of {@code descriptor}, from memory, else from the tiers below. */
    @SuppressWarnings("unchecked") // the key is the descriptor
    <D extends PrimitiveDescriptor, P extends Primitive> P program(
            LookupContext context, Engine<D, P> engine, D descriptor) throws CompileException {
        Primitive hit = programs.getIfPresent(descriptor); // without an object for the lookup below
        return cast(
                hit != null
                        ? hit
                        : programs.get(
                                descriptor,
                                key -> retain(new Lookup<>(context, engine, (D) key)
                                        .find()
                                        .primitive())));
    }

    Map<Counter, Long> counted() {
        CompositeStatistics ofComposites = composites.statistics();
        return Map.of(
                Counter.COMPOSITE_HITS, ofComposites.hits(),
                Counter.COMPOSITES_CREATED, ofComposites.created(),
                Counter.NESTED_HITS, ofComposites.nestedHits(),
                Counter.NESTED_CREATED, ofComposites.nestedCreated(),
                Counter.PROGRAM_HITS, programs.hits(),
                Counter.PROGRAM_MISSES, programs.misses());
    }

    /** Returns the program of {@code descriptor}, from memory, else by a lookup that finds it. */
    <P extends Primitive> LookupResult<P> lookup(PrimitiveDescriptor descriptor, Search<P> below)
            throws CompileException {
        long start = System.nanoTime();
        Build<P> build = new Build<>(below);
        P primitive = cast(programs.get(descriptor, build));
        Duration took = Duration.ofNanos(System.nanoTime() - start);
        Found<P> found = build.found;
        return found == null
                ? new LookupResult<>(
                        primitive,
                        build.isJoined ? PrimitiveSource.JOINED : PrimitiveSource.MEMORY,
                        OptionalInt.empty(),
                        Optional.empty(),
                        took,
                        Duration.ZERO)
                : new LookupResult<>(
                        primitive,
                        found.source(),
                        found.layer(),
                        found.otherNamespace(),
                        took,
                        found.waited());
    }

    /** Returns the program of {@code descriptor} if the memory or that lookup has it. */
    <P extends Primitive> Optional<LookupResult<P>> find(
            PrimitiveDescriptor descriptor, Search<P> below) throws CompileException {
        // Not within the cache: another thread that needs the program would wait for a lookup that
        // may find nothing.
        Primitive known = programs.peek(descriptor);
        Optional<Found<P>> found = known == null
                ? below.find()
                : Optional.of(new Found<>(MemoryTier.<P>cast(known), Optional.empty()));
        return found.isEmpty() ? Optional.empty() : Optional.of(lookup(descriptor, () -> found));
    }

    /** A lookup below the memory, and what it found. Used once. */
    private final class Build<P extends Primitive>
            implements PrimitiveCache.Builder<PrimitiveDescriptor, Primitive, CompileException> {
        private final Search<P> below;
        private @Nullable Found<P> found;
        private boolean isJoined;

        Build(Search<P> below) {
            this.below = below;
        }

        @Override
        public Primitive build(PrimitiveDescriptor descriptor) throws CompileException {
            Found<P> result = below.find().orElseThrow();
            found = result;
            return retain(result.primitive());
        }

        @Override
        public void join() {
            isJoined = true;
        }
    }

    /**
     * Prepares a primitive for this tier, from which engines that do not exist yet will load it,
     * and records it. A hit of this tier was recorded when it came here.
     */
    private <P extends Primitive> P retain(P primitive) {
        recorder.ifPresent(recording -> recording.record(primitive.descriptor()));
        primitive.onCompiledAgain(() -> counters.increment(Counter.COMPILED_AGAIN));
        if (programs.capacity() > 0) {
            primitive.outliveEngine();
        }
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
}
