package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.composite.CompositeImplementation.CreationContext;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.LongAdder;

/**
 * Cache that creates composite primitives, including nested ones, once for all concurrent callers.
 * Thread-safe.
 *
 * <p>Cached primitives hold no state of a context, so engines may be opened and closed at any time.
 * A failed creation fails for all its waiters and is not kept; the next call tries again. If a
 * primitive needs itself, directly or through others, all callers in the cycle get an
 * {@link IllegalStateException}.
 */
public final class CompositeCache {
    // More would wait for the same connections and cores, each at the expense of its time limit.
    private static final int PARTS_AT_ONCE = 16;

    private final PrimitiveCache<CompositeDescriptor<?>, CompositePrimitive> cache;
    private final KernelProvider kernels;
    private final CreationCycleDetector cycles = new CreationCycleDetector();
    private final LevelCounters topLevel = new LevelCounters();
    private final LevelCounters nested = new LevelCounters();
    private final LongAdder failed = new LongAdder();

    /** Counters of primitives requested by callers, or of nested ones. */
    private static final class LevelCounters {
        private final LongAdder hits = new LongAdder();
        private final LongAdder created = new LongAdder();
    }

    /**
     * Creates a cache of composite primitives.
     *
     * @param cache holds the primitives; used by this object only
     * @param kernels provides their kernels
     */
    public CompositeCache(
            PrimitiveCache<CompositeDescriptor<?>, CompositePrimitive> cache,
            KernelProvider kernels) {
        this.cache = cache;
        this.kernels = kernels;
    }

    /**
     * Returns the primitive, cached or new; {@link CompositePrimitive#open(EngineSet)} makes it
     * ready to run.
     *
     * @throws CompileException if a kernel does not compile
     * @throws IllegalArgumentException if the engines do not have the descriptor's targets
     * @throws IllegalStateException if the primitive needs itself, or an engine is closed
     */
    public CompositePrimitive primitive(EngineSet engines, CompositeDescriptor<?> descriptor)
            throws CompileException {
        engines.check(descriptor);
        return get(engines, descriptor, topLevel);
    }

    /**
     * Sets the number of primitives to keep. A lower capacity evicts at once; 0 clears and disables
     * the cache.
     */
    public void setCapacity(int primitives) {
        cache.setCapacity(primitives);
    }

    /** Returns the counters since this cache was made. */
    public CompositeStatistics statistics() {
        return new CompositeStatistics(
                topLevel.hits.sum(),
                topLevel.created.sum(),
                nested.hits.sum(),
                nested.created.sum(),
                failed.sum(),
                cache.size());
    }

    /** The parts of {@code dependent}, which is being created on these engines. */
    private final class CachedParts implements CreationContext.PartProvider {
        private final EngineSet engines;
        private final CompositeDescriptor<?> dependent;
        private final Map<KernelDescriptor, FutureTask<KernelProgram>> programs =
                new LinkedHashMap<>();
        private final Map<CompositeDescriptor<?>, FutureTask<CompositePrimitive>> parts =
                new LinkedHashMap<>();

        CachedParts(EngineSet engines, CompositeDescriptor<?> dependent) {
            this.engines = engines;
            this.dependent = dependent;
        }

        /**
         * Obtains the planned parts, several in parallel, so that a creation does not wait for each
         * in turn. A failure stays with its part: an implementation may have another way.
         */
        void obtainPlanned() {
            CompositePlan plan = dependent.plan();
            if (plan.own().size() + plan.nested().size() > 1) {
                plan.own()
                        .forEach(kernel ->
                                programs.put(kernel, new FutureTask<>(() -> program(kernel))));
                plan.nested()
                        .forEach(part -> parts.put(part, new FutureTask<>(() -> fromCache(part))));
                List<FutureTask<?>> all = new ArrayList<>(programs.values());
                all.addAll(parts.values());
                ParallelCalls.run(all, PARTS_AT_ONCE);
            }
        }

        @Override
        public KernelProgram kernel(KernelDescriptor kernel) throws CompileException {
            FutureTask<KernelProgram> known = programs.get(kernel);
            return known == null ? program(kernel) : ParallelCalls.result(known);
        }

        @Override
        public CompositePrimitive nested(CompositeDescriptor<?> part) throws CompileException {
            FutureTask<CompositePrimitive> known = parts.get(part);
            return known == null ? fromCache(part) : ParallelCalls.result(known);
        }

        private KernelProgram program(KernelDescriptor kernel) throws CompileException {
            return kernels.kernel(engines.engineFor(kernel.target()), kernel);
        }

        private CompositePrimitive fromCache(CompositeDescriptor<?> part) throws CompileException {
            return CompositeCache.this.nested(engines.forNested(part), dependent, part);
        }
    }

    /** Returns {@code part}, a nested primitive of {@code dependent}, which is being created. */
    private CompositePrimitive nested(
            EngineSet engines, CompositeDescriptor<?> dependent, CompositeDescriptor<?> part)
            throws CompileException {
        var dependency = new CreationCycleDetector.Dependency(dependent, part);
        try {
            cycles.add(dependency);
            return get(engines, part, nested);
        } finally {
            dependency.hasEnded = true;
        }
    }

    /** Returns the number of parts that creations wait for. */
    int waitingCreations() {
        return cycles.waitingCreations();
    }

    private CompositePrimitive get(
            EngineSet engines, CompositeDescriptor<?> descriptor, LevelCounters level)
            throws CompileException {
        boolean[] isCreator = {false};
        CompositePrimitive primitive = cache.get(descriptor, newDescriptor -> {
            isCreator[0] = true;
            return create(engines, newDescriptor);
        });
        (isCreator[0] ? level.created : level.hits).increment();
        return primitive;
    }

    private CompositePrimitive create(EngineSet engines, CompositeDescriptor<?> descriptor)
            throws CompileException {
        try {
            CachedParts parts = new CachedParts(engines, descriptor);
            parts.obtainPlanned();
            return new CreationContext(descriptor, parts).create();
        } catch (Throwable e) {
            failed.increment();
            throw e;
        }
    }

    /**
     * Source of the kernels of composite primitives: a cache of programs, or the compiler itself
     * ({@code KernelEngine::create}). Thread-safe.
     */
    @FunctionalInterface
    public interface KernelProvider {
        /**
         * Returns the program of kernels, cached or new.
         *
         * @throws CompileException if it does not compile
         */
        KernelProgram kernel(KernelEngine engine, KernelDescriptor descriptor)
                throws CompileException;
    }

    /**
     * Counters of a {@link CompositeCache} at one moment. Each successful call counts as one hit or
     * one creation.
     *
     * @param hits callers' requests for primitives that were cached, or being created for another
     *     caller
     * @param created callers' requests that created the primitive
     * @param nestedHits like {@code hits}, for requests by the creation of another primitive
     * @param nestedCreated like {@code created}, for requests by the creation of another primitive
     * @param failed failed creations, including nested ones, without their waiters
     * @param size the number of cached primitives
     */
    public record CompositeStatistics(
            long hits, long created, long nestedHits, long nestedCreated, long failed, int size) {}
}
