package dev.granary.gpu.spirv;

import dev.granary.cache.CompileException;
import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.KernelDescriptor;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Intel's offline compiler, {@code ocloc}, with its option for SPIR-V only. Its front end declares
 * the extensions of a device, so it is given the device of the target.
 *
 * @param program the program
 */
record OclocTool(Path program) implements SpirvTool {
    /** The PCI id in the device of a target. */
    private static final Pattern DEVICE_ID = Pattern.compile(" id (0x[0-9a-f]+)\\b");

    private static final String UNKNOWN_DEVICE = "Could not determine";

    @Override
    public byte[] compile(KernelDescriptor descriptor, Path directory, List<String> options)
            throws CompileException, IOException {
        List<String> command = new ArrayList<>(List.of(
                program.toString(),
                "compile",
                "-file",
                directory.resolve(SOURCE).toString(),
                "-spv_only",
                "-output",
                "program",
                "-output_no_suffix",
                "-out_dir",
                directory.toString(),
                "-options",
                BuildOptions.forDriver(options)));
        CompilerRun run = null;
        Matcher id = DEVICE_ID.matcher(descriptor.target().device());
        if (descriptor.target().vendor().equals("intel") && id.find()) {
            List<String> forDevice = new ArrayList<>(command);
            forDevice.addAll(List.of("-device", id.group(1)));
            run = CompilerRun.of(forDevice, directory);
        }
        if (run == null || (run.exitCode() != 0 && run.output().contains(UNKNOWN_DEVICE))) {
            run = CompilerRun.of(command, directory); // of no device: without its extensions
        }
        return SpirvTool.result(descriptor, run, directory.resolve("program.spv"));
    }
}
