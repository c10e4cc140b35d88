package dev.granary.gpu.composite;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.LoadedKernels;

/** An engine that has a target and nothing else, for primitives without kernels. */
public record NoKernelEngine(Target target) implements KernelEngine<Primitive> {
    /** A target of its own for that device. */
    public static Target target(String device) {
        return new Target(Backend.OPENCL, "none", device, "1");
    }

    @Override
    public LoadedKernels load(Primitive primitive) throws RestoreException {
        throw new RestoreException("there are no kernels here");
    }

    @Override
    public DeviceBuffer buffer(long bytes) {
        throw new UnsupportedOperationException("there is no memory here");
    }

    @Override
    public Primitive create(KernelDescriptor descriptor) throws CompileException {
        throw new CompileException("there is no compiler here", "");
    }

    @Override
    public Primitive create(KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind) throws RestoreException {
        throw new RestoreException("there are no kernels here");
    }

    @Override
    public void close() {}
}
