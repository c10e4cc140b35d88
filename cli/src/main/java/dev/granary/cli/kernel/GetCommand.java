package dev.granary.cli.kernel;

import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.opencl.OpenCl;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.time.Duration;
import java.util.List;

/**
 * {@code granary get}: gets every kernel of a manifest through the cache, as a node does. A bucket
 * that fails costs at most 10 s, and is reported in one line.
 */
@Command(
        name = "get",
        mixinStandardHelpOptions = true,
        description = "Get the kernels of MANIFEST through the cache, as a node does.")
public final class GetCommand extends KernelsCommand {
    private static final Duration UPLOAD_LIMIT = Duration.ofMinutes(1);

    /** Of the 10 s that a silent bucket may cost, the other 2 s are for closing connections. */
    private static final Duration MAX_LOST = Duration.ofSeconds(8);

    @Option(
            names = "--require-bucket",
            description =
                    "exit with 1 if a bucket could not be used, even if all kernels were obtained")
    private boolean isBucketRequired;

    @Override
    public Integer call() throws Exception {
        List<KernelSpec> kernels = kernels();
        GranaryConfig config = config().flushLimit(Duration.ZERO).build();
        if (isBucketRequired && config.buckets().isEmpty()) {
            throw new ConfigException(
                    "No bucket is configured, and --require-bucket needs one; give --bucket or set"
                            + " GRANARY_BUCKET.");
        }
        OpenCl.expectLaunches(KernelRunner.geometries(kernels));
        Publications published = new Publications();
        try (KernelEngine engine = device().selection().one().open();
                Granary granary =
                        Granary.builder().config(config).published(published).open()) {
            List<KernelResult> results;
            try (ProgressLine progress = new ProgressLine(err(), "getting", kernels.size())) {
                results = new KernelRunner(granary, engine).runAll(kernels, 1, progress, _ -> {});
            }
            try (ProgressLine progress = new ProgressLine(err(), "uploading", 0)) {
                progress.passing("to the bucket");
                flush(granary);
            }
            BucketFailures failures = new BucketFailures(
                    config.buckets(), granary.statistics().layers(), published, isBucketRequired);
            Report report = report();
            new KernelReport(results, granary.statistics()).addTo(report, extent());
            failures.addTo(report);
            report.print();
            return results.stream().allMatch(result -> result.outcome().isSuccess())
                            && (!isBucketRequired || failures.isEmpty())
                    ? 0
                    : 1;
        }
    }

    /**
     * Waits for uploads: as long as the lookups have left of {@link #MAX_LOST}, and a minute more
     * if a bucket has answered.
     */
    private static void flush(Granary granary) {
        Duration left = MAX_LOST.minus(granary.statistics().time(Counter.LAYER_TIME));
        if (!granary.flush(left.isNegative() ? Duration.ZERO : left)
                && granary.statistics().layers().stream().anyMatch(BucketFailures::hasAnswered)) {
            granary.flush(UPLOAD_LIMIT);
        }
    }
}
