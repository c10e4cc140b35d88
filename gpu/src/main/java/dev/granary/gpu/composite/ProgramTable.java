package dev.granary.gpu.composite;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.cache.memory.PrimitiveCache;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The programs of one composite primitive during its creation: compiled on request, each once, or
 * all restored before. Thread-safe.
 */
final class ProgramTable implements KernelProvider {
    private final Map<KernelDescriptor, KernelProgram> restored;
    private final boolean mayCompile;
    private final PrimitiveCache<KernelDescriptor, KernelProgram> compiled =
            new PrimitiveCache<>(PrimitiveCache.DEFAULT_CAPACITY);

    private ProgramTable(Map<KernelDescriptor, KernelProgram> restored, boolean mayCompile) {
        this.restored = restored;
        this.mayCompile = mayCompile;
    }

    /** Returns a table that compiles the programs. */
    static ProgramTable compiling() {
        return new ProgramTable(Map.of(), true);
    }

    /**
     * Returns a table of programs restored from the binaries of that primitive. It never compiles.
     *
     * @throws RestoreException if the binaries are not those of the descriptor, or the driver
     *     rejects one
     */
    static ProgramTable restored(
            EngineSet engines,
            CompositeDescriptor<?> descriptor,
            KernelBinaries binaries,
            BinaryKind kind)
            throws RestoreException {
        CompositePlan plan = descriptor.plan();
        if (plan.id().isEmpty()) {
            throw new RestoreException(
                    descriptor.name() + " is not cacheable: " + plan.id().reason());
        }
        if (binaries.count() != plan.kernels().size()) {
            throw new RestoreException(descriptor.name() + ": " + plan.kernels().size()
                    + " binaries are needed, not " + binaries);
        }
        Map<KernelDescriptor, KernelProgram> restored = new HashMap<>();
        for (int i = 0; i < binaries.count(); i++) {
            KernelBinaries one = KernelBinaries.ofSegments(List.of(binaries.binary(i)));
            for (KernelDescriptor kernel : plan.kernels().get(i)) {
                restored.put(kernel, engines.engineFor(kernel.target()).create(kernel, one, kind));
            }
        }
        return new ProgramTable(restored, false);
    }

    @Override
    public KernelProgram kernel(KernelEngine engine, KernelDescriptor descriptor)
            throws CompileException {
        KernelProgram known = restored.get(descriptor);
        if (known == null && !mayCompile) {
            throw new CompileException(
                    "the creation requests the kernel " + descriptor.name()
                            + ", which has no binary: an implementation must request the same"
                            + " kernels for equal descriptors",
                    "");
        }
        return known == null ? compiled.get(descriptor, _ -> engine.create(descriptor)) : known;
    }
}
