package dev.granary.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cli.manifest.KernelSourceResolver;
import dev.granary.cli.manifest.KernelSources;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.output.BuildLog;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.LayerStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.OpenClPrimitive;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;

/**
 * Runner that gets the kernels of a manifest through the cache, one after the other, and records
 * the results.
 */
final class KernelRunner {
    private final Granary granary;
    private final OpenClEngine engine;
    private final List<Result> results = new ArrayList<>();

    KernelRunner(Granary granary, OpenClEngine engine) {
        this.granary = granary;
        this.engine = engine;
    }

    /** The result for one kernel. */
    sealed interface Result {
        String name();

        record Obtained(
                String name,
                KernelDescriptor descriptor,
                PrimitiveSource source,
                OptionalInt layer,
                Duration took,
                long bytes)
                implements Result {}

        record Failed(String name, Duration took, String reason, BuildLog log) implements Result {}
    }

    /** Returns the distinct launch geometries of the kernels, as far as they are known. */
    static List<Geometry> geometries(List<KernelSpec> kernels) {
        return kernels.stream()
                .flatMap(kernel -> kernel.geometry().stream())
                .distinct()
                .toList();
    }

    /** Gets all kernels. A failure of one does not affect the others. */
    List<Result> runAll(List<KernelSpec> kernels, ProgressLine progress) {
        for (KernelSpec kernel : kernels) {
            progress.at(results.size(), kernel.name());
            results.add(runOne(kernel));
        }
        return results;
    }

    private Result runOne(KernelSpec kernel) {
        long start = System.nanoTime();
        KernelSources sources = new KernelSources(kernel.source(), Map.of());
        try {
            KernelSourceResolver.Resolved resolved =
                    KernelSourceResolver.resolve(kernel, engine.target());
            sources = resolved.sources();
            KernelDescriptor descriptor = resolved.descriptor();
            LookupResult<OpenClPrimitive> lookup = granary.obtain(engine, descriptor);
            // makes some drivers finish compiling
            long bytes = lookup.primitive().getBinaries(BinaryKind.KERNEL).byteSize();
            // stores the entry for other processes now, not at the end
            granary.flush(Duration.ZERO);
            return new Result.Obtained(
                    kernel.name(),
                    descriptor,
                    lookup.source(),
                    lookup.layer(),
                    Duration.ofNanos(System.nanoTime() - start),
                    bytes);
        } catch (CompileException e) {
            // the first line is Granary's, the others the compiler's
            String message = String.valueOf(e.getMessage());
            return failed(
                    kernel,
                    start,
                    message.lines().findFirst().orElse(message),
                    new BuildLog(e.buildLog(), sources));
        } catch (IOException | RuntimeException e) {
            return failed(
                    kernel,
                    start,
                    e.getMessage() == null ? e.toString() : e.getMessage(),
                    new BuildLog("", sources));
        }
    }

    private static Result failed(KernelSpec kernel, long start, String reason, BuildLog log) {
        return new Result.Failed(
                kernel.name(), Duration.ofNanos(System.nanoTime() - start), reason, log);
    }

    private static String error(Result.Failed failed, BuildLog.Extent extent) {
        List<String> lines = new ArrayList<>(List.of(failed.reason()));
        lines.addAll(failed.log().lines(extent));
        return String.join(System.lineSeparator(), lines);
    }

    /** Returns the results of the kernels that were obtained. */
    List<Result.Obtained> obtained() {
        return results.stream()
                .filter(Result.Obtained.class::isInstance)
                .map(Result.Obtained.class::cast)
                .toList();
    }

    long count(PrimitiveSource source) {
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

    long failures() {
        return results.stream().filter(Result.Failed.class::isInstance).count();
    }

    /** Returns results and summary as JSON. */
    JsonObject json(BuildLog.Extent log) {
        JsonArray array = new JsonArray();
        GranaryStatistics statistics = granary.statistics();
        for (Result result : results) {
            array.add(
                    switch (result) {
                        case Result.Obtained obtained -> json(obtained, statistics.layers());
                        case Result.Failed failed ->
                            JsonOutput.object(
                                    "name",
                                    failed.name(),
                                    "id",
                                    "",
                                    "outcome",
                                    "failed",
                                    "millis",
                                    Units.millis(failed.took()),
                                    "bytes",
                                    0,
                                    "error",
                                    error(failed, log));
                    });
        }
        JsonArray buckets = new JsonArray();
        statistics
                .layers()
                .forEach(layer -> buckets.add(JsonOutput.object(
                        "name",
                        layer.name(),
                        "hits",
                        layer.results().hits(),
                        "unavailable",
                        layer.results().unavailable(),
                        "skipped",
                        layer.skipped(),
                        "trouble",
                        layer.failure().orElse(""))));
        return JsonOutput.object(
                "results",
                array,
                "buckets",
                buckets,
                "summary",
                JsonOutput.object(
                        "compiled",
                        count(PrimitiveSource.COMPILED),
                        "memory",
                        count(PrimitiveSource.MEMORY),
                        "local",
                        count(PrimitiveSource.LOCAL),
                        "bucket",
                        count(PrimitiveSource.BUCKET),
                        "failed",
                        failures()),
                "waits",
                JsonOutput.object(
                        "waited",
                        statistics.waited(),
                        "givenUp",
                        statistics.waitsGivenUp(),
                        "claimsUnavailable",
                        statistics.claimsUnavailable()));
    }

    private static JsonObject json(Result.Obtained obtained, List<LayerStatistics> layers) {
        JsonObject object = JsonOutput.object(
                "name",
                obtained.name(),
                "id",
                id(obtained),
                "outcome",
                outcome(obtained),
                "millis",
                Units.millis(obtained.took()),
                "bytes",
                obtained.bytes());
        if (layers.size() > 1) {
            obtained.layer()
                    .ifPresent(position ->
                            object.addProperty("layer", layers.get(position).name()));
        }
        return object;
    }

    /** Prints results and summary as text. */
    void print(PrintWriter out, PrintWriter err, BuildLog.Extent log) {
        GranaryStatistics statistics = granary.statistics();
        boolean hasLayers = statistics.layers().size() > 1;
        TextTable table = new TextTable("kernel", "<outcome", "time", "size", "<id");
        for (Result result : results) {
            switch (result) {
                case Result.Obtained obtained ->
                    table.row(
                            obtained.name(),
                            outcome(obtained) + (hasLayers ? number(obtained.layer()) : ""),
                            Units.time(obtained.took()),
                            Units.bytes(obtained.bytes()),
                            shortId(obtained));
                case Result.Failed failed ->
                    table.row(failed.name(), "failed", Units.time(failed.took()), "-", "-");
            }
        }
        table.print(out);
        for (Result result : results) {
            switch (result) {
                case Result.Obtained obtained -> {
                    if (obtained.descriptor().getId().isEmpty()) {
                        err.println(obtained.name() + " is not cached: "
                                + obtained.descriptor().getId().reason());
                    }
                }
                case Result.Failed failed ->
                    err.println(System.lineSeparator() + "FAILED " + failed.name() + ": "
                            + error(failed, log));
            }
        }
        out.printf(
                "%s: %d compiled, %d from the bucket, %d from disk, %d from memory, %d failed%n",
                Units.plural(results.size(), "kernel"),
                count(PrimitiveSource.COMPILED),
                count(PrimitiveSource.BUCKET),
                count(PrimitiveSource.LOCAL),
                count(PrimitiveSource.MEMORY),
                failures());
        if (hasLayers) {
            for (int i = 0; i < statistics.layers().size(); i++) {
                out.println("bucket " + (i + 1) + ": " + count(i) + " from "
                        + statistics.layers().get(i).name());
            }
        }
        long skippedLookups =
                statistics.layers().stream().mapToLong(LayerStatistics::skipped).sum();
        if (skippedLookups > 0) {
            out.printf(
                    "%s skipped a bucket that had cost more time than it saved%n",
                    Units.plural(skippedLookups, "lookup"));
        }
        if (statistics.waited() + statistics.waitsGivenUp() > 0) {
            out.printf(
                    "other processes of this machine compiled too: %d waits obtained an entry, %d"
                            + " waits were given up%n",
                    statistics.waited(), statistics.waitsGivenUp());
        }
        out.flush();
        err.flush();
    }

    /**
     * Returns the number of the bucket, counted from 1, after a space; empty text if there is none.
     */
    private static String number(OptionalInt layer) {
        return layer.isPresent() ? " " + (layer.getAsInt() + 1) : "";
    }

    private static String outcome(Result.Obtained obtained) {
        return obtained.source().name().toLowerCase(Locale.ROOT);
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
}
