package dev.granary.cli.kernel;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cache.Target;
import dev.granary.cli.kernel.KernelRunner.Result;
import dev.granary.cli.output.BuildLog;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.stream.Collectors;

/** Report of the kernels of a manifest and of the buckets they came from, as text or JSON. */
final class KernelReport {
    private final List<Result> results;
    private final GranaryStatistics statistics;

    KernelReport(List<Result> results, GranaryStatistics statistics) {
        this.results = List.copyOf(results);
        this.statistics = statistics;
    }

    /** Returns results and summary as JSON. */
    JsonObject json(BuildLog.Extent log) {
        JsonArray array = new JsonArray();
        for (Result result : results) {
            array.add(
                    switch (result) {
                        case Result.Obtained obtained -> json(obtained, statistics.layers());
                        case Result.Failed failed ->
                            JsonOutput.object(
                                    "name",
                                    failed.name(),
                                    "target",
                                    failed.target().path(),
                                    "id",
                                    "",
                                    "outcome",
                                    "failed",
                                    "cause",
                                    cause(failed),
                                    "millis",
                                    Units.millis(failed.took()),
                                    "bytes",
                                    0,
                                    "error",
                                    error(failed, log));
                    });
        }
        JsonArray buckets = new JsonArray();
        statistics.layers().forEach(layer -> buckets.add(json(layer)));
        return JsonOutput.object(
                "results",
                array,
                "buckets",
                buckets,
                "summary",
                summary(),
                "counters",
                JsonOutput.object(statistics.counters()));
    }

    /** Returns a word such as {@code timed-out}. */
    private static String cause(Result.Failed failed) {
        return failed.kind().name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private JsonObject summary() {
        JsonObject summary = new JsonObject();
        for (PrimitiveSource source : PrimitiveSource.values()) {
            summary.addProperty(name(source), count(source));
        }
        summary.addProperty("failed", failures());
        return summary;
    }

    private static JsonObject json(LayerStatistics layer) {
        JsonObject object = JsonOutput.object(
                "name", layer.name(), "failure", layer.failure().orElse(""));
        layer.requests().ifPresent(requests -> object.addProperty("breaker", state(requests)));
        object.add("counters", JsonOutput.object(layer.counters()));
        return object;
    }

    private static JsonObject json(Result.Obtained obtained, List<LayerStatistics> layers) {
        JsonObject object = JsonOutput.object(
                "name",
                obtained.name(),
                "target",
                obtained.target().path(),
                "id",
                id(obtained),
                "outcome",
                outcome(obtained),
                "millis",
                Units.millis(obtained.took()),
                "bytes",
                obtained.bytes());
        obtained.from().ifPresent(target -> object.addProperty("from", target.path()));
        if (layers.size() > 1) {
            obtained.layer()
                    .ifPresent(position ->
                            object.addProperty("layer", layers.get(position).name()));
        }
        return object;
    }

    /** Prints results and summary as text. */
    void print(PrintWriter out, PrintWriter err, BuildLog.Extent log) {
        boolean hasLayers = statistics.layers().size() > 1;
        Map<Target, List<Result>> byTarget = results.stream()
                .collect(Collectors.groupingBy(
                        Result::target, LinkedHashMap::new, Collectors.toList()));
        boolean hasTargets = byTarget.size() > 1;
        byTarget.forEach((target, ofTarget) -> {
            if (hasTargets) {
                out.println("for " + target.path());
            }
            table(ofTarget, hasLayers).print(out);
        });
        for (Result result : results) {
            switch (result) {
                case Result.Obtained obtained -> {
                    if (obtained.descriptor().getId().isEmpty()) {
                        err.println(obtained.name() + " is not cached: "
                                + obtained.descriptor().getId().reason());
                    }
                }
                case Result.Failed failed ->
                    err.println(System.lineSeparator() + "FAILED " + failed.name()
                            + (hasTargets ? " for " + failed.target().path() : "") + ": "
                            + error(failed, log));
            }
        }
        out.printf(
                "%s: %d compiled, %d from the bucket, %d from disk, %d from memory, %d failed%n",
                Units.plural(results.size(), "kernel"),
                count(PrimitiveSource.COMPILED),
                count(PrimitiveSource.BUCKET),
                count(PrimitiveSource.LOCAL),
                count(PrimitiveSource.MEMORY) + count(PrimitiveSource.JOINED),
                failures());
        results.stream()
                .filter(Result.Obtained.class::isInstance)
                .map(Result.Obtained.class::cast)
                .flatMap(obtained -> obtained.from().stream())
                .distinct()
                .forEach(target -> out.println("* from an entry of " + target.path()));
        for (int i = 0; i < statistics.layers().size(); i++) {
            LayerStatistics layer = statistics.layers().get(i);
            String bucket = hasLayers ? "bucket " + (i + 1) : "bucket";
            if (hasLayers) {
                out.println(bucket + ": " + count(i) + " from " + layer.name());
            }
            layer.requests().ifPresent(requests -> out.println(bucket + ": " + describe(requests)));
        }
        long skippedLookups =
                statistics.layers().stream().mapToLong(LayerStatistics::skipped).sum();
        if (skippedLookups > 0) {
            out.printf(
                    "%s skipped a bucket that had cost more time than it saved%n",
                    Units.plural(skippedLookups, "lookup"));
        }
        long waited = statistics.count(Counter.CLAIM_HITS);
        long givenUp = statistics.count(Counter.CLAIM_WAITS_GIVEN_UP);
        if (waited + givenUp > 0) {
            out.printf(
                    "other processes of this machine compiled too: %d waits obtained an entry, %d"
                            + " waits were given up%n",
                    waited, givenUp);
        }
        out.flush();
        err.flush();
    }

    private static TextTable table(List<Result> results, boolean hasLayers) {
        TextTable table = new TextTable("kernel", "<outcome", "time", "size", "<id");
        for (Result result : results) {
            switch (result) {
                case Result.Obtained obtained ->
                    table.row(
                            obtained.name(),
                            outcome(obtained)
                                    + (hasLayers ? number(obtained.layer()) : "")
                                    + (obtained.from().isPresent() ? " *" : ""),
                            Units.time(obtained.took()),
                            Units.bytes(obtained.bytes()),
                            shortId(obtained));
                case Result.Failed failed ->
                    table.row(failed.name(), "failed", Units.time(failed.took()), "-", "-");
            }
        }
        return table;
    }

    /** Returns text such as {@code 9 requests, 2 retries, circuit breaker open (opened 1 time)}. */
    private static String describe(LayerStatistics.Requests requests) {
        return Units.plural(requests.sent(), "request") + ", "
                + Units.plural(requests.retries(), "retry") + ", circuit breaker "
                + state(requests)
                + (requests.breakerOpenings() == 0
                        ? ""
                        : " (opened " + Units.plural(requests.breakerOpenings(), "time") + ")");
    }

    private static String state(LayerStatistics.Requests requests) {
        return switch (requests.breaker()) {
            case CLOSED -> "closed";
            case OPEN -> "open";
            case HALF_OPEN -> "half-open";
        };
    }

    /**
     * Returns the number of the bucket, counted from 1, after a space; empty text if there is none.
     */
    private static String number(OptionalInt layer) {
        return layer.isPresent() ? " " + (layer.getAsInt() + 1) : "";
    }

    private static String outcome(Result.Obtained obtained) {
        return name(obtained.source());
    }

    private static String name(PrimitiveSource source) {
        return source.name().toLowerCase(Locale.ROOT);
    }

    private static String id(Result.Obtained obtained) {
        return obtained.descriptor().getId().isEmpty()
                ? ""
                : obtained.descriptor().getId().hash().hex();
    }

    private static String shortId(Result.Obtained obtained) {
        return obtained.descriptor().getId().isEmpty()
                ? "not cacheable"
                : id(obtained).substring(0, 12);
    }

    private long count(PrimitiveSource source) {
        return results.stream()
                .filter(result ->
                        result instanceof Result.Obtained obtained && obtained.source() == source)
                .count();
    }

    private long count(int layer) {
        return results.stream()
                .filter(result -> result instanceof Result.Obtained obtained
                        && obtained.layer().equals(OptionalInt.of(layer)))
                .count();
    }

    /** Returns the number of kernels that were not obtained. */
    long failures() {
        return results.stream().filter(Result.Failed.class::isInstance).count();
    }

    private static String error(Result.Failed failed, BuildLog.Extent extent) {
        List<String> lines = new ArrayList<>(List.of(failed.reason()));
        lines.addAll(failed.log().lines(extent));
        return String.join(System.lineSeparator(), lines);
    }
}
