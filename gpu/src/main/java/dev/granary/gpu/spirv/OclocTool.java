package dev.granary.gpu.spirv;

import dev.granary.cache.CompileException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.device.IntelDevice;
import dev.granary.gpu.tool.OclocProgram;
import dev.granary.gpu.tool.ToolRun;

import java.io.IOException;
import java.nio.file.Path;
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
    public byte[] compile(
            KernelDescriptor descriptor, Path source, Path directory, List<String> options)
            throws CompileException, IOException {
        Optional<IntelDevice> device = IntelDevice.of(descriptor.target());
        ToolRun run = run(directory, source, device, options);
        if (device.isPresent() && !run.isSuccess() && run.output().contains(UNKNOWN_DEVICE)) {
            // without a device, and so without the extensions that it would declare
            run = run(directory, source, Optional.empty(), options);
        }
        return SpirvTool.result(descriptor, run, directory.resolve(OclocProgram.SPIRV));
    }

    private ToolRun run(
            Path directory, Path source, Optional<IntelDevice> device, List<String> options)
            throws IOException {
        return new OclocProgram(program)
                .compile(directory, source, device, options, ToolRun.USUAL_LIMIT, "-spv_only");
    }

    @Override
    public List<Path> programs() {
        return List.of(program);
    }

    @Override
    public String identity(Path temporary) throws IOException {
        String version = new OclocProgram(program).version(temporary);
        if (!VERSION.matcher(version).matches()) {
            throw new IOException(program + " does not print its version");
        }
        return OclocProgram.identity(version);
    }
}
