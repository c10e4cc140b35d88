package dev.granary.cli.kernel;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.examples.CcEngine;
import dev.granary.gpu.KernelDescriptor;

import java.io.IOException;
import java.time.Duration;

/** An engine of a program for descriptors that can be recorded: a function of C in each. */
public class CcKernels implements Engine<KernelDescriptor, CcKernels.Function> {
    private final CcEngine engine;

    public CcKernels() throws IOException, InterruptedException {
        engine = new CcEngine();
    }

    @Override
    public Target target() {
        return engine.target();
    }

    private static CcEngine.Source source(KernelDescriptor descriptor) {
        return new CcEngine.Source(
                descriptor.target(), descriptor.name(), String.join("\n", descriptor.sources()));
    }

    /** A compiled function, and the kernel that it was compiled from. */
    public record Function(KernelDescriptor descriptor, CcEngine.Function compiled)
            implements Primitive {
        @Override
        public Origin origin() {
            return compiled.origin();
        }

        @Override
        public Duration compileTime() {
            return compiled.compileTime();
        }

        @Override
        public KernelBinaries getBinaries(BinaryKind kind) {
            return compiled.getBinaries(kind);
        }
    }

    @Override
    public Function create(KernelDescriptor descriptor) throws CompileException {
        return new Function(descriptor, engine.create(source(descriptor)));
    }

    @Override
    public Function create(KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        return new Function(descriptor, engine.create(source(descriptor), binaries, kind));
    }

    @Override
    public void close() {
        engine.close();
    }
}
