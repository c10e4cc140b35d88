package dev.granary.gpu.tool;

import dev.granary.cache.CompileException;
import dev.granary.gpu.KernelDescriptor;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** An installed program, or a pair of programs, that compiles OpenCL C to SPIR-V. */
public sealed interface SpirvTool permits OclocTool, ClangTool {
    /** The environment variable {@code PATH}: the directories of programs. */
    String PATH = System.getenv().getOrDefault("PATH", "");

    /**
     * Compiles a source file.
     *
     * @param directory an absolute path of a directory that the tool may write to
     * @param options the options, as tokens
     * @throws CompileException if the source does not compile
     * @throws IOException if the tool cannot be run, or leaves no output
     */
    byte[] compile(KernelDescriptor descriptor, Path source, Path directory, List<String> options)
            throws CompileException, IOException;

    /** Returns the programs that it consists of. */
    List<Path> programs();

    /**
     * Returns name and version, as the tool prints them.
     *
     * @param temporary the parent of temporary directories
     * @throws IOException if the tool cannot be run
     */
    String identity(Path temporary) throws IOException;

    /** Returns the first tool of a search path: Intel's {@code ocloc}, else clang. */
    static Optional<SpirvTool> find(String searchPath) {
        return program(searchPath, "ocloc")
                .<SpirvTool>map(OclocTool::new)
                .or(() -> ClangTool.find(searchPath));
    }

    /** Returns the program of that name in the first directory of a search path that has it. */
    static Optional<Path> program(String searchPath, String name) {
        for (String directory : searchPath.split(File.pathSeparator, -1)) {
            try {
                Path file = Path.of(directory, name).toAbsolutePath();
                if (!directory.isEmpty() && Files.isRegularFile(file) && Files.isExecutable(file)) {
                    return Optional.of(file);
                }
            } catch (InvalidPathException e) {
                // such a directory has no program
            }
        }
        return Optional.empty();
    }

    /**
     * Returns the output of a successful run.
     *
     * @throws CompileException if the exit code is not 0
     */
    static byte[] result(KernelDescriptor descriptor, ToolRun run, Path output)
            throws CompileException, IOException {
        if (!run.isSuccess()) {
            throw new CompileException(descriptor.name() + " does not compile", run.output());
        }
        return Files.readAllBytes(output);
    }
}
