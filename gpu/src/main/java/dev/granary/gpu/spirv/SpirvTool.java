package dev.granary.gpu.spirv;

import dev.granary.cache.CompileException;
import dev.granary.gpu.KernelDescriptor;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** An installed program, or a pair of programs, that compiles OpenCL C to SPIR-V. */
sealed interface SpirvTool permits OclocTool, ClangTool {
    /** The name of the source file. */
    String SOURCE = "program.cl";

    /**
     * Compiles the file {@link #SOURCE} of a directory.
     *
     * @param directory an absolute path of a directory that the tool may write to
     * @param options the options, as tokens
     * @throws CompileException if the source does not compile
     * @throws IOException if the tool cannot be run, or leaves no output
     */
    byte[] compile(KernelDescriptor descriptor, Path directory, List<String> options)
            throws CompileException, IOException;

    /** Returns the first tool of a search path: Intel's {@code ocloc}, else clang. */
    static Optional<SpirvTool> find(String searchPath) {
        List<Path> directories = Pattern.compile(File.pathSeparator)
                .splitAsStream(searchPath)
                .filter(part -> !part.isEmpty())
                .flatMap(SpirvTool::path)
                .toList();
        return program(directories, "ocloc")
                .<SpirvTool>map(OclocTool::new)
                .or(() -> ClangTool.find(directories));
    }

    /** Returns the program of that name in the first directory that has it. */
    static Optional<Path> program(List<Path> directories, String name) {
        return directories.stream()
                .map(directory -> directory.resolve(name))
                .filter(file -> Files.isRegularFile(file) && Files.isExecutable(file))
                .findFirst();
    }

    /**
     * Returns the output of a successful run.
     *
     * @throws CompileException if the exit code is not 0
     */
    static byte[] result(KernelDescriptor descriptor, CompilerRun run, Path output)
            throws CompileException, IOException {
        if (run.exitCode() != 0) {
            throw new CompileException(descriptor.name() + " does not compile", run.output());
        }
        return Files.readAllBytes(output);
    }

    private static Stream<Path> path(String part) {
        try {
            return Stream.of(Path.of(part).toAbsolutePath());
        } catch (InvalidPathException e) { // such a part has no program
            return Stream.empty();
        }
    }
}
