package dev.granary.cli.compiler;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Engine.StepProvider;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cli.compiler.CompilerProcessException.Kind;
import dev.granary.cli.compiler.CompilerProcessPool.RequestWriter;
import dev.granary.cli.compiler.CompilerProcessPool.Transfer;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.UsageException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.gpu.spirv.FrontEnd;
import dev.granary.gpu.spirv.SpirvCompiler;

import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;

/**
 * An engine whose driver runs in processes of its own, one for each thread that uses the engine at
 * the same time. Thread-safe.
 *
 * <p>A process that crashes, is killed or hangs is a failure of its program only; the next program
 * gets a new process. If that happens during a restore, the entry counts as refused by the driver,
 * and the program is compiled. The processes end when this process does, even if it is killed.
 */
public final class CompilerProcesses implements Engine<KernelDescriptor, TransferredPrimitive> {
    private static final Duration OPEN_LIMIT = Duration.ofMinutes(5);

    private final CompilerProcessPool pool;
    private final FrontEnd frontEnd = new FrontEnd(new ProcessFrontEnd());

    private CompilerProcesses(CompilerProcessPool pool) {
        this.pool = pool;
    }

    /**
     * Starts the first process, which finds the device.
     *
     * @param device the device
     * @param geometries the geometries of all launches that are known; binaries cover them
     * @param limit the longest time of one compile
     * @throws CommandFailedException if the device cannot be opened, or no process can be started
     * @throws UsageException if no device is selected, or several
     */
    public static CompilerProcesses start(
            DeviceSelection device, Collection<Geometry> geometries, Duration limit)
            throws CommandFailedException, UsageException, IOException, InterruptedException {
        return start(device, geometries, OPEN_LIMIT, limit);
    }

    /**
     * As {@link #start(DeviceSelection, Collection, Duration)}.
     *
     * @param openLimit the longest time until a process has opened the device
     */
    static CompilerProcesses start(
            DeviceSelection device,
            Collection<Geometry> geometries,
            Duration openLimit,
            Duration limit)
            throws CommandFailedException, UsageException, IOException, InterruptedException {
        return new CompilerProcesses(
                CompilerProcessPool.start(device, geometries, openLimit, limit));
    }

    @Override
    public Target target() {
        return pool.target();
    }

    @Override
    public TransferredPrimitive create(KernelDescriptor descriptor) throws CompileException {
        return create(descriptor, KernelBinaries.none());
    }

    /** Compiles for Level Zero in two steps, each a request; a driver of OpenCL takes source. */
    @Override
    public TransferredPrimitive create(KernelDescriptor descriptor, StepProvider steps)
            throws CompileException {
        return target().backend() == Backend.LEVEL_ZERO
                ? frontEnd.compile(
                        descriptor,
                        steps,
                        module -> create(descriptor, KernelBinaries.ofSegments(List.of(module))))
                : create(descriptor);
    }

    private TransferredPrimitive create(KernelDescriptor descriptor, KernelBinaries intermediate)
            throws CompileException {
        ProgramMessage program = ProgramMessage.of(descriptor);
        Transfer transfer = compile(
                process -> new CompilerRequest.Compile(program, process.write(intermediate)));
        try {
            requireCompatible(target(), transfer.binaries());
        } catch (CompilerProcessException e) {
            throw e.asCompileException();
        }
        return new TransferredPrimitive(descriptor, built(transfer), transfer.binaries());
    }

    /** The compiler to SPIR-V of this machine, started by a compiler process. */
    private final class ProcessFrontEnd implements SpirvCompiler {
        private final SpirvCompiler local = SpirvCompiler.onPath();

        @Override
        public byte[] compile(KernelDescriptor descriptor) throws CompileException {
            ProgramMessage program = ProgramMessage.of(descriptor);
            Transfer transfer = CompilerProcesses.this.compile(
                    _ -> new CompilerRequest.CompileIntermediate(program));
            built(transfer);
            return transfer.binaries().toByteArrays().getFirst();
        }

        @Override
        public Presence presence() {
            return local.presence();
        }
    }

    private Transfer compile(RequestWriter writer) throws CompileException {
        try {
            return pool.request(writer);
        } catch (CompilerProcessException e) {
            throw e.asCompileException();
        }
    }

    private static CompilerResponse.Built built(Transfer transfer) throws CompileException {
        return switch (transfer.response()) {
            case CompilerResponse.Built built -> built;
            case CompilerResponse.CompileFailed failed ->
                throw new CompileException(failed.message(), failed.buildLog());
            case CompilerResponse.Failed failed -> throw new IllegalStateException(failed.cause());
            case CompilerResponse other -> throw CompilerProcessPool.unexpected(other);
        };
    }

    @Override
    public TransferredPrimitive create(
            KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        if (kind != BinaryKind.KERNEL) {
            throw new RestoreException(
                    descriptor.name() + ": binaries of kind " + kind + " are not supported");
        }
        ProgramMessage program = ProgramMessage.of(descriptor);
        Transfer transfer;
        try {
            transfer = pool.request(
                    process -> new CompilerRequest.Restore(program, process.write(binaries)));
            requireCompatible(target(), transfer.binaries());
        } catch (CompilerProcessException e) {
            throw new RestoreException(descriptor.name() + ": " + e.getMessage());
        }
        return switch (transfer.response()) {
            case CompilerResponse.Built built ->
                new TransferredPrimitive(
                        descriptor,
                        built,
                        Primitive.Origin.valueOf(built.origin()) == Primitive.Origin.RESTORED
                                ? binaries
                                : transfer.binaries());
            case CompilerResponse.RestoreRefused refused ->
                throw refused.isMissingKernel()
                        ? RestoreException.missingKernel(refused.message())
                        : new RestoreException(refused.message());
            case CompilerResponse.Failed failed -> throw new RestoreException(failed.cause());
            case CompilerResponse other -> throw CompilerProcessPool.unexpected(other);
        };
    }

    /** Refuses a compiled binary that its target cannot load: it must not be published. */
    static void requireCompatible(Target target, KernelBinaries binaries)
            throws CompilerProcessException {
        if (CompatibilityChecker.check(target, binaries)
                instanceof BinaryCompatibility.Incompatible(String reason)) {
            throw new CompilerProcessException(
                    Kind.INCOMPATIBLE, "the compiled binary is not for this device: " + reason);
        }
    }

    /** Ends all processes and deletes their files. To be called when no thread uses the engine. */
    @Override
    public void close() {
        pool.close();
    }
}
