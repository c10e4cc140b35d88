package dev.granary.gpu.spirv;

import dev.granary.cache.CompileException;
import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.device.IntelDevice;
import dev.granary.gpu.tool.OclocQuery;
import dev.granary.gpu.tool.ToolRun;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Intel's offline compiler, {@code ocloc}, with its option for SPIR-V only. Its front end declares
 * the extensions of a device, so it is given the device of the target.
 *
 * @param program the program
 */
record OclocTool(Path program) implements SpirvTool {
    private static final String UNKNOWN_DEVICE = "Could not determine";
    private static final Pattern VERSION = Pattern.compile("[0-9]+(\\.[0-9]+)+");

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
        ToolRun run = null;
        Optional<IntelDevice> device = IntelDevice.of(descriptor.target());
        if (device.isPresent()) {
            List<String> forDevice = new ArrayList<>(command);
            forDevice.addAll(List.of("-device", device.get().pciText()));
            run = ToolRun.of(forDevice, directory, ToolRun.USUAL_LIMIT);
        }
        if (run == null || (!run.isSuccess() && run.output().contains(UNKNOWN_DEVICE))) {
            // without a device, and so without the extensions that it would declare
            run = ToolRun.of(command, directory, ToolRun.USUAL_LIMIT);
        }
        return SpirvTool.result(descriptor, run, directory.resolve("program.spv"));
    }

    @Override
    public List<Path> programs() {
        return List.of(program);
    }

    @Override
    public String identity(Path temporary) throws IOException {
        String version = OclocQuery.version(program, temporary);
        if (!VERSION.matcher(version).matches()) {
            throw new IOException(program + " does not print its version");
        }
        return OclocQuery.identity(version);
    }
}
