package dev.granary.cli;

import com.google.gson.JsonObject;

import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.option.BuildLogOption;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.admin.BucketTrial;
import dev.granary.coordinator.admin.ReadbackVerifier;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.PublishMode;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * {@code granary populate}: compiles the kernels that are not cached yet and publishes them, for
 * CI. The bucket is checked before anything is compiled, and every entry is read back before
 * success is reported.
 */
@Command(
        name = "populate",
        mixinStandardHelpOptions = true,
        description =
                "Compile the kernels of MANIFEST that are not cached yet, publish them, and read"
                        + " each back from the bucket.")
final class PopulateCommand extends TierCommand {
    private static final long PROGRESS_NANOS = TimeUnit.SECONDS.toNanos(1);

    @Parameters(paramLabel = "MANIFEST", description = "a TOML file with [[kernel]] tables")
    private Path manifest = Path.of("");

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Option(
            names = "--upload-limit",
            paramLabel = "SECONDS",
            defaultValue = "600",
            description = "how long to wait for uploads after the last kernel (default:"
                    + " ${DEFAULT-VALUE})")
    private int uploadLimit;

    @Option(
            names = "--alone",
            description =
                    "publish each entry at once as an object of its own, not in packs at the end")
    private boolean isUnpacked;

    @Mixin
    private BuildLogOption buildLog = new BuildLogOption();

    @Override
    public Integer call() throws Exception {
        PrintWriter out = out();
        PrintWriter err = err();
        if (uploadLimit <= 0) {
            throw new UsageException(
                    "--upload-limit must be a positive number of seconds, not " + uploadLimit);
        }
        KernelManifest kernels = KernelManifest.read(manifest);
        GranaryConfig config = stores().config();
        BucketConfig bucket = config.buckets().stream()
                .filter(BucketConfig::isWritable)
                .findFirst()
                .orElseThrow(() -> new ConfigException(
                        "No writable bucket is configured; give --bucket or set GRANARY_BUCKET."
                                + " granary run fills only the local directory."));
        Optional<String> problem = findProblem(bucket);
        if (problem.isPresent()) {
            throw new CommandFailedException(
                    bucket.name() + " cannot be used, nothing was compiled: " + problem.get());
        }
        PublishResults published = new PublishResults();
        PublishMode mode = isUnpacked ? PublishMode.UNPACKED : PublishMode.IN_PACKS;
        OpenCl.expectLaunches(KernelRunner.geometries(kernels.kernels()));
        try (OpenClEngine engine = OpenClEngine.open(device.device());
                Granary granary = Granary.open(config, mode, published)) {
            KernelRunner runner = new KernelRunner(granary, engine);
            try (ProgressLine progress = new ProgressLine(
                            err, "populating", kernels.kernels().size())
                    .watching(granary.waits())) {
                runner.runAll(kernels.kernels(), progress)
                        .forEach(result -> publishAgain(granary, result));
            }
            flush(granary, published);
            PopulateResult populated = new PopulateResult(bucket, uploadLimit, published, runner);
            ReadbackVerifier readback = new ReadbackVerifier(config.buckets());
            try (ProgressLine progress = new ProgressLine(
                            err, "reading back", populated.toReadBack().size())
                    .watching(readback.waits())) {
                populated.readBack(readback, progress);
            }
            KernelReport report = runner.report();
            if (isJson()) {
                JsonObject result = report.json(buildLog.extent());
                result.add("published", populated.json());
                result.add("lostPacks", LostPackReport.json(granary.statistics().layers()));
                JsonOutput.print(out, result);
            } else {
                report.print(out, err, buildLog.extent());
                out.println(populated.summary());
                out.flush();
            }
            populated.printProblems(err, config.directory());
            LostPackReport.printWarnings(err, granary.statistics().layers());
            return report.failures() == 0 && populated.isComplete() ? 0 : 1;
        }
    }

    private Optional<String> findProblem(BucketConfig bucket) throws ConfigException {
        try (ProgressLine progress = new ProgressLine(err(), "checking", 0)) {
            progress.passing(bucket.name());
            return BucketTrial.problem(bucket);
        }
    }

    /** Publishes an entry that this machine already had, since the bucket may lack it. */
    private static void publishAgain(Granary granary, KernelRunner.Result result) {
        if (result instanceof KernelRunner.Result.Obtained obtained
                && obtained.source() == PrimitiveSource.LOCAL) {
            granary.publish(obtained.descriptor().getId());
        }
    }

    private void flush(Granary granary, PublishResults published) {
        long start = System.nanoTime();
        long limit = TimeUnit.SECONDS.toNanos(uploadLimit);
        try (ProgressLine progress =
                new ProgressLine(err(), "publishing", 0).watching(granary.waits())) {
            for (long elapsed = 0; elapsed < limit; elapsed = System.nanoTime() - start) {
                if (granary.flush(Duration.ofNanos(Math.min(limit - elapsed, PROGRESS_NANOS)))) {
                    return;
                }
                progress.passing(Units.plural(published.stored() + published.present(), "entry")
                        + ", " + TimeUnit.NANOSECONDS.toSeconds(elapsed) + " s");
                if (Thread.currentThread().isInterrupted()) {
                    return;
                }
            }
        }
    }
}
