package dev.granary.gpu.offline;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Engine.StepProvider;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.DeviceKernels;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.gpu.offline.CompilerProcessException.Kind;
import dev.granary.gpu.spirv.FrontEnd;
import dev.granary.gpu.spirv.SpirvCompiler;
import dev.granary.gpu.tool.ToolRun;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;

/**
 * An engine for a target of Intel whose device is not here: it compiles by {@code ocloc}, each time
 * in a process of its own. Thread-safe.
 *
 * <p>Without the driver, only the container of a binary shows that it is for the target. So a
 * binary must be {@linkplain BinaryCompatibility.Compatible compatible}, both after a compile and
 * in place of a restore.
 */
public final class OclocEngine implements Engine<KernelDescriptor, CompiledProgram> {
    private final Ocloc ocloc;
    private final Target target;
    private final Duration limit;
    private final FrontEnd frontEnd = new FrontEnd(new OclocFrontEnd());

    /**
     * Creates the engine.
     *
     * @param target one of {@link Ocloc#targets}
     * @param limit the longest time of one run of the compiler
     */
    public OclocEngine(Ocloc ocloc, Target target, Duration limit) {
        this.ocloc = ocloc;
        this.target = target;
        this.limit = limit;
    }

    @Override
    public Target target() {
        return target;
    }

    @Override
    public CompiledProgram create(KernelDescriptor descriptor) throws CompileException {
        return compiled(descriptor, () -> ocloc.compile(descriptor, limit));
    }

    /** Compiles for Level Zero in two steps, of which the first is the same for many targets. */
    @Override
    public CompiledProgram create(KernelDescriptor descriptor, StepProvider steps)
            throws CompileException {
        if (target.backend().equals(Backend.OPENCL)) {
            return create(descriptor);
        }
        return frontEnd.compile(
                descriptor,
                steps,
                module -> compiled(
                        descriptor,
                        () -> ocloc.fromSpirv(
                                descriptor, module.toArray(ValueLayout.JAVA_BYTE), limit)));
    }

    /** The first step by {@code ocloc}. */
    private final class OclocFrontEnd implements SpirvCompiler {
        @Override
        public byte[] compile(KernelDescriptor descriptor) throws CompileException {
            return run(() -> ocloc.toSpirv(descriptor, limit));
        }

        @Override
        public Presence presence() {
            return new Presence.Installed(ocloc.identity());
        }
    }

    /** A run of the compiler. */
    @FunctionalInterface
    private interface CompilerRun {
        byte[] output() throws CompileException, IOException;
    }

    private byte[] run(CompilerRun compiler) throws CompileException {
        try {
            return compiler.output();
        } catch (ToolRun.OverdueException e) {
            throw CompilerProcessException.overdue(limit).asCompileException();
        } catch (IOException e) {
            throw new CompilerProcessException(
                            Kind.CRASHED, "the compiler failed: " + e.getMessage())
                    .asCompileException();
        }
    }

    private CompiledProgram compiled(KernelDescriptor descriptor, CompilerRun compiler)
            throws CompileException {
        long start = System.nanoTime();
        KernelBinaries binaries = KernelBinaries.of(run(compiler));
        SortedSet<String> kernels;
        try {
            kernels = kernels(binaries);
        } catch (CompilerProcessException e) {
            throw e.asCompileException();
        }
        Optional<String> missing = missing(descriptor, kernels);
        if (missing.isPresent()) {
            throw new CompileException(
                    descriptor.name() + " has no kernel " + missing.get() + ": its kernels are "
                            + String.join(", ", kernels),
                    "");
        }
        return primitive(
                descriptor,
                Primitive.Origin.COMPILED,
                Duration.ofNanos(System.nanoTime() - start),
                kernels,
                binaries);
    }

    @Override
    public CompiledProgram create(
            KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        if (kind != BinaryKind.KERNEL) {
            throw new RestoreException(
                    descriptor.name() + ": binaries of kind " + kind + " are not supported");
        }
        SortedSet<String> kernels;
        try {
            kernels = kernels(binaries);
        } catch (CompilerProcessException e) {
            throw new RestoreException(descriptor.name() + ": " + e.getMessage());
        }
        Optional<String> missing = missing(descriptor, kernels);
        if (missing.isPresent()) {
            throw RestoreException.missingKernel(
                    descriptor.name() + ": the binary lacks the kernel " + missing.get());
        }
        return primitive(descriptor, Primitive.Origin.RESTORED, Duration.ZERO, kernels, binaries);
    }

    private static CompiledProgram primitive(
            KernelDescriptor descriptor,
            Primitive.Origin origin,
            Duration compileTime,
            SortedSet<String> kernels,
            KernelBinaries binaries) {
        return new CompiledProgram(
                descriptor,
                origin,
                binaries,
                compileTime,
                List.copyOf(descriptor.entries().isEmpty() ? kernels : descriptor.entries()),
                List.of());
    }

    /** Returns the kernels of a binary, whose container must name the device of the target. */
    private SortedSet<String> kernels(KernelBinaries binaries) throws CompilerProcessException {
        switch (CompatibilityChecker.check(target, binaries)) {
            case BinaryCompatibility.Compatible _ -> {}
            case BinaryCompatibility.Incompatible(String reason) ->
                throw incompatible("the binary is not for this device: " + reason);
            case BinaryCompatibility.Undetermined(String reason) ->
                throw incompatible(
                        "it is not certain that the binary is for this device, and the device is"
                                + " not here to tell: " + reason);
        }
        return DeviceKernels.of(binaries.segments().getFirst())
                .orElseThrow(() -> incompatible("the kernels of the binary cannot be read"));
    }

    private static CompilerProcessException incompatible(String message) {
        return new CompilerProcessException(Kind.INCOMPATIBLE, message);
    }

    private static Optional<String> missing(
            KernelDescriptor descriptor, SortedSet<String> kernels) {
        return descriptor.entries().stream()
                .filter(entry -> !kernels.contains(entry))
                .findFirst();
    }

    @Override
    public void close() {
        // nothing is open: each run of the compiler was a process of its own
    }
}
