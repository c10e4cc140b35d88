package dev.granary.gpu.tool;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.granary.cache.CompileException;
import dev.granary.cache.support.FileTrees;
import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.device.IntelDevice;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Intel's offline compiler {@code ocloc}, as a program. Its front end declares the extensions of a
 * device, so it is given the device of the target.
 *
 * @param program its path
 */
public record OclocTool(Path program) implements SpirvTool {
    /** The file with the binary that a run leaves in its directory. */
    public static final String BINARY = "program";

    /** The file with the SPIR-V that a run leaves in its directory. */
    public static final String SPIRV = BINARY + ".spv";

    /** The option for SPIR-V in place of a binary. */
    public static final String SPIRV_ONLY = "-spv_only";

    private static final String VERSION_QUERY = "OCL_DRIVER_VERSION";
    private static final Duration QUERY_LIMIT = Duration.ofMinutes(1);
    private static final String UNKNOWN_DEVICE = "Could not determine";
    private static final Pattern VERSION = Pattern.compile("[0-9]+(\\.[0-9]+)+");

    /** Returns the identity of the front end in an {@code ocloc} of that version. */
    public static String identity(String version) {
        return "ocloc " + version;
    }

    /**
     * Returns the version of the driver that it was built with, such as {@code 22.43.24595.41}, or
     * another text that the program prints.
     *
     * @param temporary the parent of a temporary directory, in which the program leaves its answer
     * @throws IOException if the program cannot be run
     */
    public String version(Path temporary) throws IOException {
        Path directory = Files.createTempDirectory(temporary, "granary-ocloc-").toAbsolutePath();
        try {
            ToolRun run = ToolRun.of(
                    List.of(program.toString(), "query", VERSION_QUERY), directory, QUERY_LIMIT);
            Path answer = directory.resolve(VERSION_QUERY);
            return Files.exists(answer)
                    ? Files.readString(answer, ISO_8859_1).replace("\0", "").strip()
                    : run.output();
        } finally {
            FileTrees.delete(directory);
        }
    }

    /**
     * Compiles a file.
     *
     * @param directory an absolute path of a directory, in which the program leaves its output
     * @param device the device; empty for none, which SPIR-V allows
     * @param options the build options, as tokens
     * @param more further arguments
     * @throws IOException as {@link ToolRun#of}
     */
    public ToolRun compile(
            Path directory,
            Path file,
            Optional<IntelDevice> device,
            List<String> options,
            Duration limit,
            String... more)
            throws IOException {
        List<String> command =
                new ArrayList<>(List.of(program.toString(), "compile", "-file", file.toString()));
        device.ifPresent(each -> command.addAll(List.of("-device", each.pciText())));
        command.addAll(
                List.of("-output", BINARY, "-output_no_suffix", "-out_dir", directory.toString()));
        if (!options.isEmpty()) {
            command.addAll(List.of("-options", BuildOptions.forDriver(options)));
        }
        command.addAll(List.of(more));
        return ToolRun.of(command, directory, limit);
    }

    @Override
    public byte[] compile(
            KernelDescriptor descriptor, Path source, Path directory, List<String> options)
            throws CompileException, IOException {
        Optional<IntelDevice> device = IntelDevice.of(descriptor.target());
        ToolRun run = compile(directory, source, device, options, ToolRun.USUAL_LIMIT, SPIRV_ONLY);
        if (device.isPresent() && !run.isSuccess() && run.output().contains(UNKNOWN_DEVICE)) {
            // without a device, and so without the extensions that it would declare
            run = compile(
                    directory, source, Optional.empty(), options, ToolRun.USUAL_LIMIT, SPIRV_ONLY);
        }
        return SpirvTool.result(descriptor, run, directory.resolve(SPIRV));
    }

    @Override
    public List<Path> programs() {
        return List.of(program);
    }

    @Override
    public String identity(Path temporary) throws IOException {
        String version = version(temporary);
        if (!VERSION.matcher(version).matches()) {
            throw new IOException(program + " does not print its version");
        }
        return identity(version);
    }
}
