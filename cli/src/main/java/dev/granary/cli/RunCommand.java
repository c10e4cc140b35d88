package dev.granary.cli;

import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.option.BuildLogOption;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.PublishMode;
import dev.granary.coordinator.statistics.LayerStatistics;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code granary run}: gets every kernel of a manifest through the cache, as a node does. A bucket that fails costs it some seconds, and a line. */
@Command(name = "run", mixinStandardHelpOptions = true, description = "Get the kernels of MANIFEST through the cache, as a node does.")
final class RunCommand extends TierCommand {
    private static final long UPLOAD_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final long LOST_NANOS = TimeUnit.SECONDS.toNanos(8); // of the 10 that a silent bucket may cost, some go to closing connections
    private static final long CAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long PROGRESS_NANOS = TimeUnit.SECONDS.toNanos(1);

    @Parameters(paramLabel = "MANIFEST", description = "a TOML file with [[kernel]] tables")
    private Path manifest = Path.of("");

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Option(names = "--require-bucket", description = "end with 1 where a bucket could not be used, even if all kernels were obtained")
    private boolean isBucketRequired;

    @Mixin
    private BuildLogOption buildLog = new BuildLogOption();

    @Override
    public Integer call() throws Exception {
        PrintWriter out = out();
        PrintWriter err = err();
        KernelManifest kernels = KernelManifest.read(manifest);
        GranaryConfig config = stores().builder().flushLimit(Duration.ZERO).build();
        if (isBucketRequired && config.buckets().isEmpty()) {
            throw new ConfigException("No bucket is configured, and --require-bucket wants one; give --bucket or set GRANARY_BUCKET.");
        }
        OpenCl.expectLaunches(KernelRunner.geometries(kernels.kernels()));
        PublishResults published = new PublishResults();
        try (OpenClEngine engine = OpenClEngine.open(device.device()); Granary granary = Granary.open(config, PublishMode.UNPACKED, published)) {
            KernelRunner run = new KernelRunner(granary, engine);
            try (ProgressLine progress = new ProgressLine(err, "getting", kernels.kernels().size()).watching(granary.waits())) {
                run.all(kernels.kernels(), progress);
            }
            long start = System.nanoTime();
            flush(granary, start);
            awaitCauses(granary, start);
            BucketFailureReport troubles = new BucketFailureReport(config.buckets(), granary.statistics().layers(), published);
            if (isBucketRequired) {
                troubles.tryUnproven();
            }
            if (isJson()) {
                JsonOutput.print(out, run.json(buildLog.shown()));
            } else {
                run.print(out, err, buildLog.shown());
            }
            troubles.print(err);
            return run.failures() > 0 || (isBucketRequired && troubles.isAny()) ? 1 : 0;
        }
    }

    /** Waits for uploads: long where the bucket has answered at all, else no longer than makes {@link #LOST_NANOS} with what look-ups have waited. */
    private void flush(Granary granary, long start) {
        try (ProgressLine progress = new ProgressLine(err(), "uploading", 0).watching(granary.waits())) {
            while (!Thread.currentThread().isInterrupted()) {
                List<LayerStatistics> layers = granary.statistics().layers();
                long limit = BucketFailureReport.isAnyAnswering(layers) ? UPLOAD_NANOS : leftToLose(layers);
                long passed = System.nanoTime() - start;
                if (granary.flush(Duration.ofNanos(Math.max(0, Math.min(limit - passed, PROGRESS_NANOS)))) || passed >= limit) {
                    return;
                }
                progress.passing(TimeUnit.NANOSECONDS.toSeconds(passed) + " s");
            }
        }
    }

    private static long leftToLose(List<LayerStatistics> layers) {
        return LOST_NANOS - layers.stream().mapToLong(layer -> layer.results().loadNanos()).sum();
    }

    /** Waits, within the same bound, for answers for which no look-up has waited: they tell what was wrong, or that nothing was. */
    private static void awaitCauses(Granary granary, long start) {
        List<LayerStatistics> layers = granary.statistics().layers();
        while (layers.stream().anyMatch(layer -> layer.late() > 0 && layer.failure().isPresent())
                && System.nanoTime() - start < leftToLose(layers) && !Thread.currentThread().isInterrupted()) {
            LockSupport.parkNanos(CAUSE_NANOS);
            layers = granary.statistics().layers();
        }
    }
}
