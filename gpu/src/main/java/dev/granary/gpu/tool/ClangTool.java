package dev.granary.gpu.tool;

import dev.granary.cache.CompileException;
import dev.granary.cache.support.FileTrees;
import dev.granary.gpu.KernelDescriptor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Clang, and the translator of its intermediate code to SPIR-V.
 *
 * @param clang the front end
 * @param translator {@code llvm-spirv} of the same version
 */
public record ClangTool(Path clang, Path translator) implements SpirvTool {
    private static final int NEWEST_VERSION = 40;
    private static final int OLDEST_VERSION = 11;
    private static final Duration VERSION_LIMIT = Duration.ofMinutes(1);

    /** Returns the pair without a version in its names, else that of the highest version. */
    public static Optional<SpirvTool> find(String searchPath) {
        return Stream.concat(
                        Stream.of(""),
                        IntStream.iterate(NEWEST_VERSION, v -> v >= OLDEST_VERSION, v -> v - 1)
                                .mapToObj(version -> "-" + version))
                .flatMap(suffix -> SpirvTool.program(searchPath, "clang" + suffix).stream()
                        .flatMap(clang ->
                                SpirvTool.program(searchPath, "llvm-spirv" + suffix).stream()
                                        .<SpirvTool>map(
                                                translator -> new ClangTool(clang, translator))))
                .findFirst();
    }

    @Override
    public byte[] compile(
            KernelDescriptor descriptor, Path source, Path directory, List<String> options)
            throws CompileException, IOException {
        Path bitcode = directory.resolve("program.bc");
        Path spirv = directory.resolve("program.spv");
        List<String> command = new ArrayList<>(List.of(
                clang.toString(),
                "-c",
                "-x",
                "cl",
                "--target=spir64-unknown-unknown",
                "-emit-llvm",
                "-Xclang",
                "-finclude-default-header",
                "-o",
                bitcode.toString()));
        command.addAll(options);
        command.add(source.toString());
        ToolRun compiled = ToolRun.of(command, directory, ToolRun.USUAL_LIMIT);
        SpirvTool.result(descriptor, compiled, bitcode);
        ToolRun translated = ToolRun.of(
                List.of(translator.toString(), bitcode.toString(), "-o", spirv.toString()),
                directory,
                ToolRun.USUAL_LIMIT);
        return SpirvTool.result(descriptor, translated, spirv);
    }

    @Override
    public List<Path> programs() {
        return List.of(clang, translator);
    }

    @Override
    public String identity(Path temporary) throws IOException {
        return version(clang, temporary) + ", " + version(translator, temporary);
    }

    /** Returns the first line with a version that the program prints. */
    private static String version(Path program, Path temporary) throws IOException {
        Path directory = Files.createTempDirectory(temporary, "granary-clang-").toAbsolutePath();
        try {
            return ToolRun.of(List.of(program.toString(), "--version"), directory, VERSION_LIMIT)
                    .output()
                    .lines()
                    .map(String::strip)
                    .filter(line -> line.contains("version"))
                    .findFirst()
                    .orElseThrow(() -> new IOException(program + " does not print its version"));
        } finally {
            FileTrees.delete(directory);
        }
    }
}
