package dev.granary.gpu.spirv;

import dev.granary.cache.CompileException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.tool.SpirvTool;

import java.nio.file.Path;
import java.util.List;

/** A compiler of OpenCL C to SPIR-V. Thread-safe. */
@FunctionalInterface
public interface SpirvCompiler {
    /** The message for a machine whose {@code PATH} has no compiler, with the packages. */
    String REMEDY = "no compiler from OpenCL C to SPIR-V is on the PATH; install one, on Debian:"
            + " apt-get install intel-opencl-icd (it has ocloc; intel-ocloc from Debian 13 on),"
            + " or apt-get install clang-14 llvm-spirv-14 (or another version of both)";

    /**
     * Compiles the sources of a program, with its headers and options. Options that
     * {@linkplain #isForDriver are for the driver} are not for this compiler.
     *
     * @return a module of SPIR-V
     * @throws CompileException if the source does not compile, with the output of the compiler, or
     *     if there is no compiler, with a message that says what to install
     */
    byte[] compile(KernelDescriptor descriptor) throws CompileException;

    /**
     * Returns whether this compiler can compile here, and its identity. By default it is
     * unidentified, and so no cache stores its modules.
     */
    default Presence presence() {
        return new Presence.Unidentified();
    }

    /** The presence of a compiler on this machine. */
    sealed interface Presence {
        /**
         * The compiler is installed.
         *
         * @param identity its name and version, in one line of ASCII: two compilers of one identity
         *     make equal modules
         */
        record Installed(String identity) implements Presence {}

        /** There is none: each compile fails. */
        record Absent() implements Presence {}

        /** The compiler prints no version. */
        record Unidentified() implements Presence {}
    }

    /**
     * Returns the compiler of this machine, found in the directories of the environment variable
     * {@code PATH} at each compile: {@code ocloc}, else {@code clang} with {@code llvm-spirv}.
     */
    static SpirvCompiler onPath() {
        return new PathCompiler(SpirvTool.PATH, Path.of(System.getProperty("java.io.tmpdir")));
    }

    /**
     * Returns true if an option is for the driver that takes the SPIR-V, such as
     * {@code -ze-opt-disable}.
     */
    static boolean isForDriver(String option) {
        return option.startsWith("-ze-");
    }

    /**
     * Returns the options of a program that the driver gets with its SPIR-V: those
     * {@linkplain #isForDriver for the driver}, and all of them if no compiler has made the SPIR-V.
     */
    static List<String> driverOptions(KernelDescriptor descriptor) {
        return descriptor.optionTokens().stream()
                .filter(option -> descriptor.spirv().isPresent() || isForDriver(option))
                .toList();
    }
}
