package dev.granary.gpu.opencl;

import dev.granary.cache.CompileException;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.Launch;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Builds the native programs of one context, from source or from a binary. What fails leaves nothing behind.
 *
 * @param binding the native calls
 * @param context the context
 * @param device the device to build for
 */
record ProgramBuilder(ClBinding binding, long context, long device) {
    /** Intel's driver says so in the build log when a binary did not fit and it compiled the embedded intermediate code anew. */
    private static final String RECOMPILED_MARK = "recompiled-from-ir";

    /** Clang says so when its own handler of a signal has removed the file that it was writing. */
    private static final String FILE_LOST_MARK = "unable to rename temporary";

    private static final int TRIES = 10;

    private static final Path SIGNAL_CHAINING = Path.of(System.getProperty("java.home"), "lib", "libjsig.so");

    private static final Path TEMPORARY = Path.of(System.getProperty("java.io.tmpdir"));

    /** A program that was built, and the names of its wanted kernels. */
    record Built(long program, List<String> kernels) {}

    /** A program built from a binary, and whether the driver compiled after all. */
    record Restored(Built program, Primitive.Origin origin) {}

    Built compile(KernelDescriptor descriptor) throws CompileException {
        long program = binding.createProgramWithSource(context, descriptor.sources());
        try {
            build(program, descriptor);
            List<String> kernels = kernelsOf(program, descriptor);
            for (Launch launch : descriptor.launches()) {
                if (!launch.kernel().equals(Launch.EVERY_KERNEL) && !kernels.contains(launch.kernel())) {
                    throw new CompileException(descriptor.name() + " announces the launch " + launch + ", but its kernels are "
                            + String.join(", ", kernels) + ": correct the launch or name the entry", "");
                }
            }
            return new Built(program, kernels);
        } catch (CompileException | RuntimeException | Error e) {
            binding.releaseProgram(program);
            throw e;
        }
    }

    /** Hands {@code binary}, which must have been verified, to the driver. */
    Restored restore(KernelDescriptor descriptor, MemorySegment binary) throws RestoreException {
        long program = binding.createProgramWithBinary(context, device, binary);
        try {
            if (!binding.buildProgram(program, device, descriptor.options())) {
                throw new RestoreException(descriptor.name() + ": the driver refuses the binary: " + binding.buildLog(program, device));
            }
            boolean recompiled = binding.buildLog(program, device).contains(RECOMPILED_MARK);
            return new Restored(new Built(program, kernelsOf(program, descriptor)),
                    recompiled ? Primitive.Origin.RECOMPILED : Primitive.Origin.RESTORED);
        } catch (RestoreException | RuntimeException | Error e) {
            binding.releaseProgram(program);
            throw e;
        }
    }

    private void build(long program, KernelDescriptor descriptor) throws CompileException {
        if (descriptor.headers().isEmpty()) {
            build(program, descriptor, descriptor.options());
            return;
        }
        try (HeaderDirectory headers = new HeaderDirectory(descriptor, TEMPORARY)) {
            build(program, descriptor, headers.options() + " " + descriptor.options());
        } catch (IOException e) {
            throw new CompileException(descriptor.name() + ": its headers could not be laid out for the compiler: " + e.getMessage(), "");
        }
    }

    /**
     * Builds, again where the compiler lost a file to a signal. LLVM inside a driver replaces the JVM's handlers while it writes files, and
     * removes them at any signal that could end the process; but in a JVM some are daily business, as at a null pointer or a safepoint.
     */
    private void build(long program, KernelDescriptor descriptor, String options) throws CompileException {
        for (int attempt = 1; !binding.buildProgram(program, device, options.strip()); attempt++) {
            String log = binding.buildLog(program, device);
            if (!log.contains(FILE_LOST_MARK)) {
                throw new CompileException(descriptor.name() + " does not compile", log);
            }
            if (attempt == TRIES) {
                throw new CompileException(descriptor.name() + " does not compile: signals of the JVM removed the compiler's files " + TRIES
                        + " times; start the JVM with LD_PRELOAD=" + SIGNAL_CHAINING, log);
            }
        }
    }

    /** The names of the wanted kernels, each of which was made once: some drivers compile only then. */
    private List<String> kernelsOf(long program, KernelDescriptor descriptor) {
        List<Long> kernels = new ArrayList<>();
        try {
            if (descriptor.entries().isEmpty()) {
                kernels.addAll(binding.createKernels(program));
            }
            for (String entry : descriptor.entries()) {
                kernels.add(binding.createKernel(program, entry));
            }
            return kernels.stream().map(binding::kernelName).sorted().toList();
        } finally {
            kernels.forEach(binding::releaseKernel);
        }
    }
}
