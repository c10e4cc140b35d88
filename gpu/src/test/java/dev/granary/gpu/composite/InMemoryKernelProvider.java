package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.composite.CompositeCache.KernelProvider;

/** Kernel provider with programs in memory only; missing ones are compiled. */
final class InMemoryKernelProvider implements KernelProvider {
    final PrimitiveCache<PrimitiveDescriptor, Primitive> programs = new PrimitiveCache<>(1024);

    /** Returns a new cache of composite primitives over this provider. */
    CompositeCache composites(int capacity) {
        return new CompositeCache(new PrimitiveCache<>(capacity), this);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <P extends Primitive> P kernel(KernelEngine<P> engine, KernelDescriptor descriptor)
            throws CompileException {
        return (P) programs.get(descriptor, _ -> engine.create(descriptor));
    }
}
