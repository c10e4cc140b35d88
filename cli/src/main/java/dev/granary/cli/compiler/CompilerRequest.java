package dev.granary.cli.compiler;

import java.util.List;

/** A request to a compiler process. */
sealed interface CompilerRequest {
    /**
     * Opens the device; the first request.
     *
     * @param backend the path of its backend; empty for any
     * @param device its number or a part of its name; empty for the first device
     * @param geometries the geometries of launches that binaries may have to cover
     */
    record Open(String backend, String device, List<ProgramMessage.LaunchMessage> geometries)
            implements CompilerRequest {}

    /**
     * Compiles a program.
     *
     * @param intermediate the file of its module of SPIR-V, from which the driver builds; none if
     *     the driver takes the source
     */
    record Compile(ProgramMessage program, List<String> intermediate) implements CompilerRequest {}

    /** Compiles a program to SPIR-V, which is the first step of a compile for Level Zero. */
    record CompileIntermediate(ProgramMessage program) implements CompilerRequest {}

    /**
     * Restores a program from binaries.
     *
     * @param binaries the files with the binaries, in order
     */
    record Restore(ProgramMessage program, List<String> binaries) implements CompilerRequest {}
}
