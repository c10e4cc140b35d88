package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.build.StackReserve;
import dev.granary.cache.memory.PrimitiveCache;
import java.util.concurrent.atomic.LongAdder;

/**
 * Creates composite primitives, each once however many ask for it, nested ones too, and hands out handles. Thread-safe.
 *
 * <p>The cache keeps what is the same for all contexts; engines come and go. A creation that fails reaches all who waited for it, leaves
 * nothing behind, and the next call creates again. A primitive that needs itself, directly or through others, is an
 * {@link IllegalStateException} for all who are part of the circle.
 */
public final class CompositeCache {
    private final PrimitiveCache<CompositeDescriptor<?>, CompositePrimitive> cache;
    private final KernelProvider kernels;
    private final CreationCycleDetector graph = new CreationCycleDetector();
    private final Level outermost = new Level();
    private final Level nested = new Level();
    private final LongAdder failed = new LongAdder();

    /** Counters of those that callers ask for, or of nested ones. */
    private static final class Level {
        private final LongAdder hits = new LongAdder();
        private final LongAdder created = new LongAdder();
    }

    /**
     * Primitives kept in {@code cache}, which is this one's alone.
     *
     * @param kernels where their kernels come from
     */
    public CompositeCache(PrimitiveCache<CompositeDescriptor<?>, CompositePrimitive> cache, KernelProvider kernels) {
        this.cache = cache;
        this.kernels = kernels;
    }

    /**
     * The primitive, ready to be run on these engines; the caller closes the handle.
     *
     * @throws CompileException if a kernel does not compile
     * @throws IllegalArgumentException if the engines are not those that the descriptor is for
     * @throws IllegalStateException if the primitive turns out to need itself, or an engine is closed
     */
    public CompositeHandle handle(EngineSet engines, CompositeDescriptor<?> descriptor) throws CompileException {
        return CompositeHandle.open(primitive(engines, descriptor), engines);
    }

    /**
     * The primitive alone, from the cache or created: for who wants it created before it is needed.
     *
     * @throws CompileException if a kernel does not compile
     * @throws IllegalArgumentException if the engines are not those that the descriptor is for
     * @throws IllegalStateException if the primitive turns out to need itself, or an engine is closed
     */
    public CompositePrimitive primitive(EngineSet engines, CompositeDescriptor<?> descriptor) throws CompileException {
        engines.check(descriptor);
        return get(engines, descriptor, outermost);
    }

    /** Changes how many primitives are kept; lowering evicts at once, 0 clears and disables. */
    public void setCapacity(int primitives) {
        cache.setCapacity(primitives);
    }

    /** What was done so far. */
    public CompositeStatistics statistics() {
        return new CompositeStatistics(outermost.hits.sum(), outermost.created.sum(), nested.hits.sum(), nested.created.sum(), failed.sum(),
                cache.size(), cache.capacity());
    }

    /** A part of the primitive {@code asking} that is being created. */
    CompositePrimitive nested(EngineSet engines, CompositeDescriptor<?> asking, CompositeDescriptor<?> part) throws CompileException {
        StackReserve.require(); // else what was asked for would count as asked for ever
        graph.ask(asking, part);
        try {
            return get(engines, part, nested);
        } finally {
            graph.answered(asking, part);
        }
    }

    KernelProvider kernels() {
        return kernels;
    }

    /** How many creations wait for parts. */
    int waiting() {
        return graph.waiting();
    }

    private CompositePrimitive get(EngineSet engines, CompositeDescriptor<?> descriptor, Level level) throws CompileException {
        boolean[] isMine = {false};
        CompositePrimitive primitive = cache.get(descriptor, key -> {
            isMine[0] = true;
            return create(engines, key);
        });
        (isMine[0] ? level.created : level.hits).increment();
        return primitive;
    }

    private CompositePrimitive create(EngineSet engines, CompositeDescriptor<?> descriptor) throws CompileException {
        StackReserve.require();
        CreationContext creation = new CreationContext(this, descriptor, engines);
        try {
            return creation.end(descriptor.create(creation));
        } catch (Throwable e) {
            failed.increment();
            throw e;
        } finally {
            creation.over();
        }
    }
}
