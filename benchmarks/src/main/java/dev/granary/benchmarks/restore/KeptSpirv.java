package dev.granary.benchmarks.restore;

import dev.granary.cache.CompileException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.spirv.SpirvCompiler;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A compiler that keeps the SPIR-V of each program, and compiles it once. Thread-safe. */
final class KeptSpirv implements SpirvCompiler {
    private final SpirvCompiler compiler;
    private final Map<KernelDescriptor, byte[]> kept = new ConcurrentHashMap<>();

    KeptSpirv(SpirvCompiler compiler) {
        this.compiler = compiler;
    }

    @Override
    public byte[] compile(KernelDescriptor descriptor) throws CompileException {
        byte[] known = kept.get(descriptor);
        if (known == null) {
            known = compiler.compile(descriptor);
            kept.put(descriptor, known);
        }
        return known;
    }
}
