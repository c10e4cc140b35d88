package dev.granary.cli;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cli.manifest.KernelSourceResolver;
import dev.granary.cli.manifest.KernelSources;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.output.BuildLog;
import dev.granary.cli.output.ProgressLine;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.OpenClPrimitive;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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

    /** Returns the results of the kernels that were obtained. */
    List<Result.Obtained> obtained() {
        return results.stream()
                .filter(Result.Obtained.class::isInstance)
                .map(Result.Obtained.class::cast)
                .toList();
    }

    /** Returns a report of the results so far. */
    KernelReport report() {
        return new KernelReport(results, granary.statistics());
    }
}
