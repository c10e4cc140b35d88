package dev.granary.gpu.opencl;

import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.Launch;
import dev.granary.gpu.engine.BuiltProgram;
import dev.granary.gpu.engine.EngineLifetime;
import dev.granary.gpu.engine.NativeHandle;
import dev.granary.gpu.opencl.binding.ProgramCalls;
import dev.granary.gpu.tool.HeaderDirectory;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Builder of the native programs of one context, from source, from SPIR-V or from a binary. A
 * failed build leaves no native objects.
 *
 * @param lifetime the lifetime of the engine
 * @param calls the native calls
 * @param context the context
 * @param device the device to build for
 */
record ProgramBuilder(EngineLifetime lifetime, ProgramCalls calls, long context, long device) {
    /** Message of clang after its signal handler has removed the file that it was writing. */
    private static final String FILE_LOST_MARK = "unable to rename temporary";

    private static final int MAX_ATTEMPTS = 10;

    private static final Path SIGNAL_CHAINING =
            Path.of(System.getProperty("java.home"), "lib", "libjsig.so");

    private static final Path TEMPORARY = Path.of(System.getProperty("java.io.tmpdir"));

    BuiltProgram compile(KernelDescriptor descriptor) throws CompileException {
        Optional<MemorySegment> spirv = descriptor.spirv();
        NativeHandle program = own(
                spirv.isPresent()
                        ? calls.createProgramWithIL(context, spirv.get())
                        : calls.createProgramWithSource(context, descriptor.sources()));
        try {
            build(program.get(), descriptor);
            List<String> kernels = compiledKernels(program.get(), descriptor);
            Optional<Launch> unknown = launchOfOtherKernel(kernels, descriptor);
            if (unknown.isPresent()) {
                throw new CompileException(
                        descriptor.name() + " announces the launch " + unknown.get()
                                + ", but its kernels are " + String.join(", ", kernels)
                                + ": correct the launch or name the entry",
                        "");
            }
            return new BuiltProgram(program, kernels, Primitive.Origin.COMPILED, null);
        } catch (CompileException | RuntimeException | Error e) {
            program.release();
            throw e;
        }
    }

    /** Restores a program from one binary, which must have been verified. */
    BuiltProgram restore(KernelDescriptor descriptor, KernelBinaries binaries)
            throws RestoreException {
        NativeHandle program = own(calls.createProgramWithBinary(
                context, device, binaries.segments().getFirst()));
        try {
            if (!calls.buildProgram(program.get(), device, descriptor.options())) {
                throw new RestoreException(descriptor.name() + ": the driver refuses the binary: "
                        + calls.buildLog(program.get(), device));
            }
            boolean recompiled =
                    calls.buildLog(program.get(), device).contains(BuiltProgram.RECOMPILED_MARK);
            return new BuiltProgram(
                    program,
                    restoredKernels(program.get(), descriptor),
                    recompiled ? Primitive.Origin.RECOMPILED : Primitive.Origin.RESTORED,
                    recompiled ? null : binaries);
        } catch (RestoreException | RuntimeException | Error e) {
            program.release();
            throw e;
        }
    }

    private NativeHandle own(long program) {
        return new NativeHandle(lifetime, "program", program, calls::releaseProgram);
    }

    private void build(long program, KernelDescriptor descriptor) throws CompileException {
        if (descriptor.headers().isEmpty()) {
            build(program, descriptor, descriptor.options());
            return;
        }
        try (HeaderDirectory headers = new HeaderDirectory(descriptor, TEMPORARY)) {
            build(
                    program,
                    descriptor,
                    BuildOptions.format(headers.options()) + " " + descriptor.options());
        } catch (IOException e) {
            throw new CompileException(
                    descriptor.name() + ": its headers could not be written for the compiler: "
                            + e.getMessage(),
                    "");
        }
    }

    /**
     * Builds, and repeats the build if a signal made the compiler lose a file. LLVM inside a driver
     * replaces the JVM's signal handlers while it writes files, and removes the files at any signal
     * that could end the process. The JVM uses such signals regularly, for example at null pointers
     * and safepoints.
     */
    private void build(long program, KernelDescriptor descriptor, String options)
            throws CompileException {
        for (int attempt = 1; !calls.buildProgram(program, device, options.strip()); attempt++) {
            String log = calls.buildLog(program, device);
            if (!log.contains(FILE_LOST_MARK)) {
                throw new CompileException(descriptor.name() + " does not compile", log);
            }
            if (attempt == MAX_ATTEMPTS) {
                throw new CompileException(
                        descriptor.name()
                                + " does not compile: signals of the JVM removed the compiler's"
                                + " files "
                                + MAX_ATTEMPTS + " times; start the JVM with LD_PRELOAD="
                                + SIGNAL_CHAINING,
                        log);
            }
        }
    }

    /**
     * Returns the names of the requested kernels. All kernels of the program are created once,
     * since some drivers compile only then: the binary must not depend on the entries, which the id
     * does not contain.
     */
    private List<String> compiledKernels(long program, KernelDescriptor descriptor) {
        List<String> all = create(() -> calls.createKernels(program));
        return descriptor.entries().isEmpty() ? all : entriesOf(program, descriptor);
    }

    /** Returns the names of the requested kernels, each of which is created once. */
    private List<String> restoredKernels(long program, KernelDescriptor descriptor)
            throws RestoreException {
        try {
            List<String> kernels = descriptor.entries().isEmpty()
                    ? create(() -> calls.createKernels(program))
                    : entriesOf(program, descriptor);
            if (launchOfOtherKernel(kernels, descriptor).isPresent()) {
                throw RestoreException.missingKernel(
                        descriptor.name() + ": the binary lacks a kernel of an announced launch");
            }
            return kernels;
        } catch (DriverException e) {
            if (descriptor.entries().isEmpty()) {
                throw e;
            }
            throw RestoreException.missingKernel(
                    descriptor.name() + ": the binary lacks an entry: " + e.getMessage());
        }
    }

    private static Optional<Launch> launchOfOtherKernel(
            List<String> kernels, KernelDescriptor descriptor) {
        return descriptor.launches().stream()
                .filter(launch -> !launch.kernel().equals(Launch.EVERY_KERNEL)
                        && !kernels.contains(launch.kernel()))
                .findFirst();
    }

    private List<String> entriesOf(long program, KernelDescriptor descriptor) {
        List<String> names = new ArrayList<>();
        for (String entry : descriptor.entries()) {
            try {
                names.addAll(create(() -> List.of(calls.createKernel(program, entry))));
            } catch (DriverException e) {
                throw new DriverException(
                        e.getMessage() + "; the program has "
                                + String.join(", ", create(() -> calls.createKernels(program))),
                        e.code());
            }
        }
        return List.copyOf(names);
    }

    /** Creates kernels, releases them, and returns their names in order. */
    private List<String> create(Supplier<List<Long>> creation) {
        List<Long> kernels = creation.get();
        try {
            return kernels.stream().map(calls::kernelName).sorted().toList();
        } finally {
            kernels.forEach(calls::releaseKernel);
        }
    }
}
