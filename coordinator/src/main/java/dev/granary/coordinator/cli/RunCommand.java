package dev.granary.coordinator.cli;

import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.manifest.Manifest;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code granary run}: gets every kernel of a manifest through the cache, as a node does. */
@Command(name = "run", mixinStandardHelpOptions = true, description = "Get the kernels of MANIFEST through the cache, as a node does.")
final class RunCommand extends StoreCommand {
    @Parameters(paramLabel = "MANIFEST", description = "a TOML file with [[kernel]] tables")
    private Path manifest = Path.of("");

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Override
    public Integer call() throws Exception {
        PrintWriter out = out();
        PrintWriter err = err();
        Manifest kernels = Manifest.read(manifest);
        GranaryConfig config = stores().builder().flushLimit(Duration.ofMinutes(1)).build();
        OpenCl.expectLaunches(KernelRun.geometries(kernels.kernels()));
        try (OpenClEngine engine = OpenClEngine.open(device.device()); Granary granary = Granary.open(config)) {
            KernelRun run = new KernelRun(granary, engine);
            try (Progress progress = new Progress(err, "getting", kernels.kernels().size())) {
                run.all(kernels.kernels(), progress);
            }
            if (isJson()) {
                Json.print(out, run.json());
            } else {
                run.print(out, err);
            }
            return run.failures() == 0 ? 0 : 1;
        }
    }
}
