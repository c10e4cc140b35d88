package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.build.StackReserve;
import dev.granary.cache.memory.PrimitiveCache;

import java.util.concurrent.atomic.LongAdder;

/**
 * Cache that creates composite primitives, including nested ones, once for all concurrent callers,
 * and opens handles. Thread-safe.
 *
 * <p>Cached primitives hold no state of a context, so engines may be opened and closed at any time.
 * A failed creation fails for all its waiters and is not kept; the next call tries again. If a
 * primitive needs itself, directly or through others, all callers in the cycle get an
 * {@link IllegalStateException}.
 */
public final class CompositeCache {
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
     * Returns a handle that runs the primitive on these engines; the caller closes it.
     *
     * @throws CompileException if a kernel does not compile
     * @throws IllegalArgumentException if the engines do not have the descriptor's targets
     * @throws IllegalStateException if the primitive needs itself, or an engine is closed
     */
    public CompositeHandle handle(EngineSet engines, CompositeDescriptor<?> descriptor)
            throws CompileException {
        return CompositeHandle.open(primitive(engines, descriptor), engines);
    }

    /**
     * Returns the primitive without a handle, for example to create it before it is needed.
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
                cache.size(),
                cache.capacity());
    }

    /** Returns {@code part}, a nested primitive of {@code dependent}, which is being created. */
    CompositePrimitive nested(
            EngineSet engines, CompositeDescriptor<?> dependent, CompositeDescriptor<?> part)
            throws CompileException {
        // a stack overflow below would leave the dependency recorded forever
        StackReserve.require();
        cycles.add(dependent, part);
        try {
            return get(engines, part, nested);
        } finally {
            cycles.remove(dependent, part);
        }
    }

    KernelProvider kernels() {
        return kernels;
    }

    /** Returns the number of creations that wait for parts. */
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
        StackReserve.require();
        CreationContext context = new CreationContext(this, descriptor, engines);
        try {
            return context.complete(descriptor.create(context));
        } catch (Throwable e) {
            failed.increment();
            throw e;
        } finally {
            context.close();
        }
    }
}
