package dev.granary.plans.tuning;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.OpenClEngine;

/**
 * An engine of PoCL that ends the process when it compiles one kernel, as PoCL does by an abort for
 * some others.
 */
record DyingEngine(OpenClEngine engine, Id deadly) implements KernelEngine {
    /** The exit code of the process. */
    static final int DEATH = 42;

    @Override
    public Target target() {
        return engine.target();
    }

    @Override
    public KernelProgram create(KernelDescriptor descriptor) throws CompileException {
        if (descriptor.getId().equals(deadly)) {
            Runtime.getRuntime().halt(DEATH);
        }
        return engine.create(descriptor);
    }

    @Override
    public KernelProgram create(
            KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        return engine.create(descriptor, binaries, kind);
    }

    @Override
    public LoadedKernels load(KernelProgram primitive) throws RestoreException {
        return engine.load(primitive);
    }

    @Override
    public DeviceBuffer buffer(long bytes) {
        return engine.buffer(bytes);
    }

    @Override
    public void close() {
        engine.close();
    }
}
