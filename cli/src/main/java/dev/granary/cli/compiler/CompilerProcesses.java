package dev.granary.cli.compiler;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Engine.StepProvider;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive.Origin;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Target;
import dev.granary.cli.compiler.CompilerFiles.Request;
import dev.granary.cli.compiler.CompilerPool.Response;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.UsageException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.gpu.offline.CompiledProgram;
import dev.granary.gpu.offline.CompilerProcessException;
import dev.granary.gpu.offline.CompilerProcessException.Kind;
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
public final class CompilerProcesses implements Engine<KernelDescriptor, CompiledProgram> {
    private static final Duration OPEN_LIMIT = Duration.ofMinutes(5);

    private final CompilerPool pool;
    private final FrontEnd frontEnd = new FrontEnd(new ProcessFrontEnd());

    private CompilerProcesses(CompilerPool pool) {
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
        return new CompilerProcesses(new CompilerPool(device, geometries, openLimit, limit));
    }

    @Override
    public Target target() {
        return pool.target();
    }

    @Override
    public CompiledProgram create(KernelDescriptor descriptor) throws CompileException {
        return compile(descriptor, KernelBinaries.none());
    }

    /** Compiles for Level Zero in two steps, each a request; a driver of OpenCL takes source. */
    @Override
    public CompiledProgram create(KernelDescriptor descriptor, StepProvider steps)
            throws CompileException {
        return target().backend().equals(Backend.LEVEL_ZERO)
                ? frontEnd.compile(
                        descriptor,
                        steps,
                        module -> compile(descriptor, KernelBinaries.ofSegments(List.of(module))))
                : create(descriptor);
    }

    private CompiledProgram compile(KernelDescriptor descriptor, KernelBinaries intermediate)
            throws CompileException {
        CompiledProgram program =
                program(descriptor, compiled(Request.COMPILE, descriptor, intermediate));
        try {
            requireCompatible(target(), program.binaries());
        } catch (CompilerProcessException e) {
            throw e.asCompileException();
        }
        return program;
    }

    /** The compiler to SPIR-V of this machine, started by a compiler process. */
    private final class ProcessFrontEnd implements SpirvCompiler {
        private final SpirvCompiler local = SpirvCompiler.onPath();

        @Override
        public byte[] compile(KernelDescriptor descriptor) throws CompileException {
            return compiled(Request.COMPILE_INTERMEDIATE, descriptor, KernelBinaries.none())
                    .entry()
                    .orElseThrow()
                    .binaries()
                    .toByteArrays()
                    .getFirst();
        }

        @Override
        public Presence presence() {
            return local.presence();
        }
    }

    /** Returns the response to a request, which has an entry. */
    private Response compiled(
            Request request, KernelDescriptor descriptor, KernelBinaries intermediate)
            throws CompileException {
        Response response;
        try {
            response = pool.request(request, descriptor, intermediate);
        } catch (CompilerProcessException e) {
            throw e.asCompileException();
        }
        if (response.entry().isPresent()) {
            return response;
        }
        if (response.outcome() != CompilerFiles.Outcome.COMPILE_FAILED) {
            throw new IllegalStateException(response.failure());
        }
        String[] failure = response.failure().split("\n", 2);
        throw new CompileException(failure[0], failure[1]);
    }

    private static CompiledProgram program(KernelDescriptor descriptor, Response response) {
        Entry entry = response.entry().orElseThrow();
        EntryMetadata metadata = entry.metadata().orElseThrow();
        return new CompiledProgram(
                descriptor,
                Origin.valueOf(response.outcome().name()),
                entry.binaries(),
                entry.compileTime(),
                metadata.kernels(),
                metadata.geometries());
    }

    @Override
    public CompiledProgram create(
            KernelDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
            throws RestoreException {
        if (kind != BinaryKind.KERNEL || binaries.isEmpty()) {
            throw new RestoreException(
                    descriptor.name() + ": there are no binaries of kind " + kind);
        }
        try {
            Response response = pool.request(Request.RESTORE, descriptor, binaries);
            if (response.entry().isPresent()) {
                requireCompatible(target(), response.entry().get().binaries());
                return program(descriptor, response);
            }
            throw response.outcome() == CompilerFiles.Outcome.MISSING_KERNEL
                    ? RestoreException.missingKernel(response.failure())
                    : new RestoreException(response.failure());
        } catch (CompilerProcessException e) {
            throw new RestoreException(descriptor.name() + ": " + e.getMessage());
        }
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
