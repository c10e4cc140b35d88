package dev.granary.gpu.composite;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;

/** Engine with a target and no other function, for primitives without kernels. */
public record NoKernelEngine(Target target) implements KernelEngine {
    /** Returns a target for that device name. */
    public static Target target(String device) {
        return new Target(Backend.OPENCL, "none", device, "1");
    }

    @Override
    public LoadedKernels load(KernelProgram program) throws RestoreException {
        throw new RestoreException("this engine has no kernels");
    }

    @Override
    public DeviceBuffer buffer(long bytes) {
        throw new UnsupportedOperationException("this engine has no memory");
    }

    @Override
    public KernelProgram create(KernelDescriptor descriptor) throws CompileException {
        throw new CompileException("this engine has no compiler", "");
    }

    @Override
    public KernelProgram create(
            KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        throw new RestoreException("this engine has no kernels");
    }

    @Override
    public void close() {}
}
