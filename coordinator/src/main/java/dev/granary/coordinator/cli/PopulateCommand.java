package dev.granary.coordinator.cli;

import com.google.gson.JsonObject;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.Publishing;
import dev.granary.coordinator.Source;
import dev.granary.coordinator.config.BucketLayer;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.manifest.Manifest;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code granary populate}: compiles what nobody has compiled yet and publishes it, for CI. */
@Command(
        name = "populate",
        mixinStandardHelpOptions = true,
        description = "Compile the kernels of MANIFEST that nobody has compiled yet, and publish them.")
final class PopulateCommand extends StoreCommand {
    @Parameters(paramLabel = "MANIFEST", description = "a TOML file with [[kernel]] tables")
    private Path manifest = Path.of("");

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Option(names = "--upload-limit", paramLabel = "SECONDS", defaultValue = "600",
            description = "how long to wait for uploads after the last kernel (default: ${DEFAULT-VALUE})")
    private int uploadLimit;

    @Option(names = "--alone", description = "publish each entry alone and at once, not in packs at the end")
    private boolean isAlone;

    @Override
    public Integer call() throws Exception {
        PrintWriter out = out();
        PrintWriter err = err();
        if (uploadLimit <= 0) {
            throw new UsageException("--upload-limit must be a positive number of seconds, not " + uploadLimit);
        }
        Manifest kernels = Manifest.read(manifest);
        GranaryConfig config = stores().config();
        Published published = new Published();
        Publishing publishing = isAlone ? Publishing.ALONE : Publishing.IN_PACKS;
        OpenCl.expectLaunches(KernelRun.geometries(kernels.kernels()));
        try (OpenClEngine engine = OpenClEngine.open(device.device()); Granary granary = Granary.open(config, publishing, published)) {
            KernelRun run = new KernelRun(granary, engine);
            try (Progress progress = new Progress(err, "populating", kernels.kernels().size())) {
                run.all(kernels.kernels(), progress).forEach(result -> publishAgain(granary, result));
            }
            boolean isDone = granary.flush(Duration.ofSeconds(uploadLimit));
            boolean isPublished = isDone && published.failed() == 0;
            if (isJson()) {
                JsonObject result = run.json();
                result.add("published", published.json());
                Json.print(out, result);
            } else {
                run.print(out, err);
                out.println(summary(config, published));
                out.flush();
            }
            if (!isPublished) {
                published.causes().forEach((cause, id) -> err.println("granary: not published: " + id + ": " + cause));
                err.println("granary: all kernels that compiled are in " + config.directory() + "; remove the cause and populate again, which"
                        + " uploads them without compiling.");
                err.flush();
            }
            return run.failures() == 0 && isPublished ? 0 : 1;
        }
    }

    /** What this machine had already may be missing in the bucket. */
    private static void publishAgain(Granary granary, KernelRun.Result result) {
        if (result instanceof KernelRun.Result.Got got && (got.source() == Source.LOCAL)) {
            granary.publish(got.descriptor().getId());
        }
    }

    private static String summary(GranaryConfig config, Published published) {
        if (config.buckets().isEmpty()) {
            return "stored in " + config.directory() + " only: no bucket is configured (--bucket or GRANARY_BUCKET)";
        }
        Optional<BucketLayer> target = config.buckets().stream().filter(BucketLayer::isWritable).findFirst();
        if (target.isEmpty()) {
            return "stored in " + config.directory() + " only: every bucket is only read (access=read)";
        }
        return target.get().location() + ": " + published.stored() + " published, " + published.present() + " there already, "
                + published.failed() + " failed";
    }
}
