package dev.granary.coordinator.cli;

import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.manifest.Manifest;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code granary run}: gets every kernel of a manifest through the cache, as a node does. */
@Command(name = "run", mixinStandardHelpOptions = true, description = "Get the kernels of MANIFEST through the cache, as a node does.")
final class RunCommand implements Callable<Integer> {
    @Parameters(paramLabel = "MANIFEST", description = "a TOML file with [[kernel]] tables")
    private Path manifest = Path.of("");

    @Mixin
    private StoreOptions stores = new StoreOptions();

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Option(names = "--json", description = "print one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public Integer call() throws Exception {
        var out = spec.commandLine().getOut();
        var err = spec.commandLine().getErr();
        Manifest kernels = Manifest.read(manifest);
        GranaryConfig config = stores.builder().flushLimit(Duration.ofMinutes(1)).build();
        OpenCl.expectLaunches(KernelRun.geometries(kernels.kernels()));
        try (OpenClEngine engine = OpenClEngine.open(device.device()); Granary granary = Granary.open(config)) {
            KernelRun run = new KernelRun(granary, engine);
            try (Progress progress = new Progress(err, "getting", kernels.kernels().size())) {
                run.all(kernels.kernels(), progress);
            }
            if (json) {
                Json.print(out, run.json());
            } else {
                run.print(out, err);
            }
            return run.failures() == 0 ? 0 : 1;
        }
    }
}
