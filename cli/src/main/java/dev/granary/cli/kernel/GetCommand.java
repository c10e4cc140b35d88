package dev.granary.cli.kernel;

import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.option.StoreOptions;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.opencl.OpenCl;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * {@code granary get}: gets every kernel of a manifest through the cache, as a node does. A bucket
 * that fails costs at most 10 s, and is reported in one line.
 */
@Command(description = "Get the kernels of MANIFEST through the cache, as a node does.")
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
    protected boolean run(Report report) throws Exception {
        List<KernelSpec> all = kernels();
        GranaryConfig config = config().flushLimit(Duration.ZERO).build();
        if (isBucketRequired && config.buckets().isEmpty()) {
            throw new ConfigException(
                    "No bucket is configured, and --require-bucket needs one; give --bucket or set"
                            + " GRANARY_BUCKET.");
        }
        OpenCl.expectLaunches(KernelRunner.geometries(all));
        Publications published = new Publications();
        try (KernelEngine engine = device.selection().one().open();
                Granary granary =
                        Granary.builder().config(config).published(published).open()) {
            List<KernelSpec> kernels = KernelRunner.of(engine, all);
            List<KernelResult> results;
            try (ProgressLine progress = new ProgressLine(err(), "getting", kernels.size())) {
                results = new KernelRunner(granary, engine).runAll(kernels, 1, progress, _ -> {});
            }
            try (ProgressLine progress = new ProgressLine(err(), "uploading", 0)) {
                progress.passing(() -> "to the bucket");
                flush(granary);
            }
            KernelResult.addTo(report, results, granary.statistics(), logLines());
            KernelRunner.addOthers(List.of(engine), all, report);
            boolean hasFailed =
                    addFailures(config, granary.statistics().layers(), published, report);
            return results.stream().allMatch(result -> result.outcome().isSuccess())
                    && !(isBucketRequired && hasFailed);
        }
    }

    /** Waits for uploads within {@link #MAX_LOST}, and a minute more if a bucket answered. */
    private static void flush(Granary granary) {
        Duration left = MAX_LOST.minus(granary.statistics().time(Counter.LAYER_TIME));
        if (!granary.flush(left.isNegative() ? Duration.ZERO : left)
                && granary.statistics().layers().stream().anyMatch(GetCommand::hasAnswered)) {
            granary.flush(UPLOAD_LIMIT);
        }
    }

    /**
     * Reports each bucket that has failed in one line. With {@code --require-bucket} those without
     * a failure get a request if they have answered no lookup, or only with damaged entries: a
     * server that is not S3 may return something for every name.
     *
     * @return whether a bucket has failed; not if the upload has replaced damaged entries
     */
    private boolean addFailures(
            GranaryConfig config,
            List<LayerStatistics> layers,
            Publications published,
            Report report)
            throws ConfigException {
        boolean hasFailed = false;
        Optional<BucketConfig> target = StoreOptions.writable(config);
        for (int i = 0; i < layers.size(); i++) {
            LayerStatistics layer = layers.get(i);
            BucketConfig bucket = config.buckets().get(i);
            boolean isTarget = target.equals(Optional.of(bucket));
            Optional<String> failure = failure(layer, isTarget ? published : new Publications());
            Optional<String> suspicion = suspicion(layer);
            if (isBucketRequired
                    && failure.isEmpty()
                    && (!hasAnswered(layer) || suspicion.isPresent())) {
                failure = StoreOptions.problem(bucket);
            }
            hasFailed |= failure.isPresent();
            failure.or(() -> suspicion)
                    .ifPresent(line -> report.problem(
                            layer.name() + ": " + line + "; granary doctor shows what to do"));
        }
        return hasFailed;
    }

    private static Optional<String> failure(LayerStatistics layer, Publications published) {
        String counts = Stream.of(
                        count(layer.count(Counter.LAYER_UNAVAILABLE), "lookup", " failed"),
                        count(layer.count(Counter.LAYER_SKIPPED), "lookup", " skipped"),
                        count(published.failed(), "upload", " failed"))
                .filter(text -> !text.isEmpty())
                .collect(Collectors.joining(", "));
        return layer.failure()
                .or(() -> published.causes().keySet().stream().findFirst())
                .map(cause -> counts.isEmpty() ? cause : cause + " (" + counts + ")");
    }

    private static Optional<String> suspicion(LayerStatistics layer) {
        String untrusted = count(
                layer.count(Counter.LAYER_UNTRUSTED),
                "lookup",
                " found an entry without a trusted signature, and none one with it");
        String damaged = count(
                layer.count(Counter.LAYER_DAMAGED),
                "lookup",
                " found a damaged entry, and none a sound one");
        return Optional.of(untrusted.isEmpty() ? damaged : untrusted)
                .filter(text -> !text.isEmpty() && layer.count(Counter.LAYER_HITS) == 0);
    }

    private static String count(long count, String noun, String outcome) {
        return count == 0 ? "" : Units.plural(count, noun) + outcome;
    }

    /** Returns true if the bucket has answered a lookup, or has stored an entry. */
    private static boolean hasAnswered(LayerStatistics layer) {
        return layer.count(Counter.LAYER_LOOKUPS) > layer.count(Counter.LAYER_UNAVAILABLE)
                || layer.count(Counter.LAYER_STORED) > 0;
    }
}
