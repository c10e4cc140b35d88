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

/** Gets the kernels of a manifest through the cache, one after the other, and keeps what became of each. */
final class KernelRunner {
    private final Granary granary;
    private final OpenClEngine engine;
    private final List<Result> results = new ArrayList<>();

    KernelRunner(Granary granary, OpenClEngine engine) {
        this.granary = granary;
        this.engine = engine;
    }

    /** What became of one kernel. */
    sealed interface Result {
        String name();

        record Got(String name, KernelDescriptor descriptor, PrimitiveSource source, OptionalInt layer, Duration took, long bytes) implements Result {}

        record Failed(String name, Duration took, String reason, BuildLog log) implements Result {}
    }

    /** All launches that the kernels will be used with, where they are known. */
    static List<Geometry> geometries(List<KernelSpec> kernels) {
        return kernels.stream().flatMap(kernel -> kernel.geometry().stream()).distinct().toList();
    }

    /** Gets all kernels; one that fails does not keep the others from being got. */
    List<Result> all(List<KernelSpec> kernels, ProgressLine progress) {
        for (KernelSpec kernel : kernels) {
            progress.at(results.size(), kernel.name());
            results.add(one(kernel));
        }
        return results;
    }

    private Result one(KernelSpec kernel) {
        long start = System.nanoTime();
        KernelSources sources = new KernelSources(kernel.source(), Map.of());
        try {
            KernelSourceResolver.Made made = KernelSourceResolver.read(kernel, engine.target());
            sources = made.sources();
            KernelDescriptor descriptor = made.descriptor();
            LookupResult<OpenClPrimitive> got = granary.obtain(engine, descriptor);
            long bytes = got.primitive().getBinaries(BinaryKind.KERNEL).byteSize(); // which makes some drivers compile the rest
            granary.flush(Duration.ZERO); // nothing is to be waited for any more: other processes get it now, and not at the end
            return new Result.Got(kernel.name(), descriptor, got.source(), got.layer(), Duration.ofNanos(System.nanoTime() - start), bytes);
        } catch (CompileException e) {
            String message = String.valueOf(e.getMessage()); // its first line is Granary's, the others are the compiler's
            return failed(kernel, start, message.lines().findFirst().orElse(message), new BuildLog(e.buildLog(), sources));
        } catch (IOException | RuntimeException e) {
            return failed(kernel, start, e.getMessage() == null ? e.toString() : e.getMessage(), new BuildLog("", sources));
        }
    }

    private static Result failed(KernelSpec kernel, long start, String reason, BuildLog log) {
        return new Result.Failed(kernel.name(), Duration.ofNanos(System.nanoTime() - start), reason, log);
    }

    private static String error(Result.Failed failed, BuildLog.Shown shown) {
        List<String> lines = new ArrayList<>(List.of(failed.reason()));
        lines.addAll(failed.log().lines(shown));
        return String.join(System.lineSeparator(), lines);
    }

    /** The kernels that were had. */
    List<Result.Got> got() {
        return results.stream().filter(Result.Got.class::isInstance).map(Result.Got.class::cast).toList();
    }

    long count(PrimitiveSource source) {
        return results.stream().filter(result -> result instanceof Result.Got got && got.source() == source).count();
    }

    private long count(int layer) {
        return results.stream().filter(result -> result instanceof Result.Got got && got.layer().equals(OptionalInt.of(layer))).count();
    }

    long failures() {
        return results.stream().filter(Result.Failed.class::isInstance).count();
    }

    /** Results and summary, for machines. */
    JsonObject json(BuildLog.Shown log) {
        JsonArray array = new JsonArray();
        GranaryStatistics counted = granary.statistics();
        for (Result result : results) {
            array.add(switch (result) {
                case Result.Got got -> json(got, counted.layers());
                case Result.Failed failed -> JsonOutput.object("name", failed.name(), "id", "", "outcome", "failed", "millis",
                        Units.millis(failed.took()), "bytes", 0, "error", error(failed, log));
            });
        }
        JsonArray buckets = new JsonArray();
        counted.layers().forEach(layer -> buckets.add(JsonOutput.object("name", layer.name(), "hits", layer.results().hits(), "unavailable",
                layer.results().unavailable(), "skipped", layer.skipped(), "trouble", layer.failure().orElse(""))));
        return JsonOutput.object("results", array, "buckets", buckets, "summary", JsonOutput.object("compiled", count(PrimitiveSource.COMPILED), "memory",
                count(PrimitiveSource.MEMORY), "local", count(PrimitiveSource.LOCAL), "bucket", count(PrimitiveSource.BUCKET), "failed", failures()), "waits", JsonOutput.object("waited",
                counted.waited(), "givenUp", counted.waitsGivenUp(), "claimsUnavailable", counted.claimsUnavailable()));
    }

    private static JsonObject json(Result.Got got, List<LayerStatistics> layers) {
        JsonObject object = JsonOutput.object("name", got.name(), "id", id(got), "outcome", outcome(got), "millis", Units.millis(got.took()), "bytes",
                got.bytes());
        if (layers.size() > 1) {
            got.layer().ifPresent(position -> object.addProperty("layer", layers.get(position).name()));
        }
        return object;
    }

    /** Results and summary, for people. */
    void print(PrintWriter out, PrintWriter err, BuildLog.Shown log) {
        GranaryStatistics counted = granary.statistics();
        boolean hasLayers = counted.layers().size() > 1;
        TextTable table = new TextTable("kernel", "<outcome", "time", "size", "<id");
        for (Result result : results) {
            switch (result) {
                case Result.Got got -> table.row(got.name(), outcome(got) + (hasLayers ? number(got.layer()) : ""),
                        Units.time(got.took()), Units.bytes(got.bytes()), shortId(got));
                case Result.Failed failed -> table.row(failed.name(), "failed", Units.time(failed.took()), "-", "-");
            }
        }
        table.print(out);
        for (Result result : results) {
            switch (result) {
                case Result.Got got -> {
                    if (got.descriptor().getId().isEmpty()) {
                        err.println(got.name() + " is not cached: " + got.descriptor().getId().reason());
                    }
                }
                case Result.Failed failed -> err.println(System.lineSeparator() + "FAILED " + failed.name() + ": " + error(failed, log));
            }
        }
        out.printf("%s: %d compiled, %d from the bucket, %d from disk, %d from memory, %d failed%n",
                Units.plural(results.size(), "kernel"), count(PrimitiveSource.COMPILED), count(PrimitiveSource.BUCKET), count(PrimitiveSource.LOCAL),
                count(PrimitiveSource.MEMORY), failures());
        if (hasLayers) {
            for (int i = 0; i < counted.layers().size(); i++) {
                out.println("bucket " + (i + 1) + ": " + count(i) + " from " + counted.layers().get(i).name());
            }
        }
        long skipped = counted.layers().stream().mapToLong(LayerStatistics::skipped).sum();
        if (skipped > 0) {
            out.printf("%s did without a bucket that had cost more time than it saved%n", Units.plural(skipped, "look-up"));
        }
        if (counted.waited() + counted.waitsGivenUp() > 0) {
            out.printf("other processes of this machine were at it: %d waited for, %d not waited for any longer%n",
                    counted.waited(), counted.waitsGivenUp());
        }
        out.flush();
        err.flush();
    }

    /** Which bucket it was, counted from 1, with a blank before it; empty text where it was none. */
    private static String number(OptionalInt layer) {
        return layer.isPresent() ? " " + (layer.getAsInt() + 1) : "";
    }

    private static String outcome(Result.Got got) {
        return got.source().name().toLowerCase(Locale.ROOT);
    }

    private static String id(Result.Got got) {
        return got.descriptor().getId().isEmpty() ? "" : got.descriptor().getId().hash().hex();
    }

    private static String shortId(Result.Got got) {
        return got.descriptor().getId().isEmpty() ? "not cacheable" : id(got).substring(0, 12);
    }
}
