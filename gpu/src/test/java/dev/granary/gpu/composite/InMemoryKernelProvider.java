package dev.granary.gpu.composite;

import dev.granary.cache.CompileException;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.composite.CompositeCache.KernelProvider;

/** Kernel provider with programs in memory only; missing ones are compiled. */
final class InMemoryKernelProvider implements KernelProvider {
    final PrimitiveCache<KernelDescriptor, KernelProgram> programs = new PrimitiveCache<>(1024);

    /** Returns a new cache of composite primitives over this provider. */
    CompositeCache composites(int capacity) {
        return new CompositeCache(new PrimitiveCache<>(capacity), this);
    }

    @Override
    public KernelProgram kernel(KernelEngine engine, KernelDescriptor descriptor)
            throws CompileException {
        return programs.get(descriptor, _ -> engine.create(descriptor));
    }
}
