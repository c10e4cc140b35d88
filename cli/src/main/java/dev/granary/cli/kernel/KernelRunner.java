package dev.granary.cli.kernel;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Primitive;
import dev.granary.cache.Target;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.output.BuildLog;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.source.KernelSourceResolver;
import dev.granary.cli.source.KernelSources;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.Launch;
import dev.granary.gpu.offline.CompilerProcessException;
import dev.granary.s3.store.SecretRedactor;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Runner that gets the kernels of a manifest through the cache, and records the results in the
 * order of the manifest.
 */
final class KernelRunner {
    private final Granary granary;
    private final Engine<KernelDescriptor, ?> engine;
    private List<Result> results = List.of();

    KernelRunner(Granary granary, Engine<KernelDescriptor, ?> engine) {
        this.granary = granary;
        this.engine = engine;
    }

    /** The result for one kernel. */
    sealed interface Result {
        String name();

        /** Returns the target that it was obtained for. */
        Target target();

        /**
         * A kernel that was obtained.
         *
         * @param layer the position of its bucket if it came from one
         * @param from the target of its entry if that is of another namespace
         */
        record Obtained(
                String name,
                KernelDescriptor descriptor,
                PrimitiveSource source,
                OptionalInt layer,
                Optional<Target> from,
                Duration took,
                long bytes)
                implements Result {
            @Override
            public Target target() {
                return descriptor.target();
            }
        }

        /** A kernel that was not obtained, with its build log. */
        record Failed(
                String name,
                Target target,
                Duration took,
                FailureKind kind,
                String reason,
                BuildLog log)
                implements Result {}
    }

    /** The kind of a failure to obtain a kernel. */
    enum FailureKind {
        /** A source or an included file cannot be read. */
        UNREADABLE,
        /** The compiler refuses the program. */
        COMPILE,
        /** The process of the compiler ended. */
        CRASHED,
        /** The compiler did not end within its limit. */
        TIMED_OUT,
        /** The compiled binary is for another device by its container, or malformed. */
        INCOMPATIBLE,
        /** Granary is at fault, not the kernel. */
        INTERNAL;

        static FailureKind of(CompileException e) {
            return e.getCause() instanceof CompilerProcessException process
                    ? switch (process.kind()) {
                        case CRASHED -> CRASHED;
                        case TIMED_OUT -> TIMED_OUT;
                        case INCOMPATIBLE -> INCOMPATIBLE;
                    }
                    : COMPILE;
        }
    }

    /** Returns the distinct launch geometries of the kernels, as far as they are known. */
    static List<Geometry> geometries(List<KernelSpec> kernels) {
        return kernels.stream()
                .flatMap(kernel -> kernel.launches().stream())
                .map(Launch::geometry)
                .distinct()
                .toList();
    }

    /** Gets all kernels, one after the other. A failure of one does not affect the others. */
    List<Result> runAll(List<KernelSpec> kernels, ProgressLine progress) {
        List<Result> all = new ArrayList<>();
        for (KernelSpec kernel : kernels) {
            progress.at(all.size(), kernel.name());
            all.add(runOne(kernel));
        }
        results = all;
        return results;
    }

    /**
     * Gets all kernels on {@code jobs} threads.
     *
     * @throws InterruptedException if the current thread is interrupted; running compiles are
     *     interrupted too
     */
    List<Result> runAll(List<KernelSpec> kernels, ProgressLine progress, int jobs)
            throws InterruptedException {
        AtomicInteger begun = new AtomicInteger();
        ExecutorService threads = Executors.newFixedThreadPool(
                jobs, Thread.ofPlatform().daemon().name("granary-job-", 1).factory());
        try {
            List<Callable<Result>> tasks = new ArrayList<>();
            for (KernelSpec kernel : kernels) {
                tasks.add(() -> {
                    progress.at(begun.getAndIncrement(), kernel.name());
                    return runOne(kernel);
                });
            }
            List<Result> all = new ArrayList<>();
            for (Future<Result> task : threads.invokeAll(tasks)) {
                all.add(task.get());
            }
            results = all;
            return results;
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        } finally {
            threads.shutdownNow();
        }
    }

    private Result runOne(KernelSpec kernel) {
        long start = System.nanoTime();
        KernelSourceResolver.Resolved resolved;
        try {
            resolved = KernelSourceResolver.resolve(kernel, engine.target());
        } catch (IOException | IllegalArgumentException e) {
            return failed(
                    kernel,
                    start,
                    e instanceof IOException ? FailureKind.UNREADABLE : FailureKind.COMPILE,
                    String.valueOf(e.getMessage()),
                    new BuildLog("", new KernelSources(kernel.sources().getFirst(), Map.of())));
        }
        KernelDescriptor descriptor = resolved.descriptor();
        try {
            LookupResult<? extends Primitive> lookup = granary.lookup(engine, descriptor);
            // makes some drivers finish compiling
            long bytes = lookup.primitive().getBinaries(BinaryKind.KERNEL).byteSize();
            // stores the entry for other processes now, not at the end
            granary.flush(Duration.ZERO);
            return new Result.Obtained(
                    kernel.name(),
                    descriptor,
                    lookup.source(),
                    lookup.layer(),
                    lookup.from(),
                    Duration.ofNanos(System.nanoTime() - start),
                    bytes);
        } catch (CompileException e) {
            // the first line is Granary's, the others the compiler's
            String message = String.valueOf(e.getMessage());
            return failed(
                    kernel,
                    start,
                    FailureKind.of(e),
                    message.lines().findFirst().orElse(message),
                    new BuildLog(e.buildLog(), resolved.sources()));
        } catch (RuntimeException e) {
            StringWriter trace = new StringWriter();
            e.printStackTrace(new PrintWriter(trace, true));
            return failed(
                    kernel,
                    start,
                    FailureKind.INTERNAL,
                    "internal error of Granary, not of the kernel; please report it",
                    new BuildLog(SecretRedactor.redact(trace.toString()), resolved.sources()));
        }
    }

    private Result failed(
            KernelSpec kernel, long start, FailureKind kind, String reason, BuildLog log) {
        return new Result.Failed(
                kernel.name(),
                engine.target(),
                Duration.ofNanos(System.nanoTime() - start),
                kind,
                reason,
                log);
    }

    /** Returns a report of the results so far. */
    KernelReport report() {
        return new KernelReport(results, granary.statistics());
    }
}
