package dev.granary.cli.kernel;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Id;
import dev.granary.cache.Primitive;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.output.BuildLog;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.source.KernelSourceResolver;
import dev.granary.cli.source.KernelSources;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.Launch;
import dev.granary.s3.store.SecretRedactor;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** Runner that gets the kernels of a manifest through the cache. */
final class KernelRunner {
    private final Granary granary;
    private final Engine<KernelDescriptor, ?> engine;

    KernelRunner(Granary granary, Engine<KernelDescriptor, ?> engine) {
        this.granary = granary;
        this.engine = engine;
    }

    /** Returns the distinct launch geometries of the kernels, as far as they are known. */
    static List<Geometry> geometries(List<KernelSpec> kernels) {
        return kernels.stream()
                .flatMap(kernel -> kernel.launches().stream())
                .map(Launch::geometry)
                .distinct()
                .toList();
    }

    /**
     * Gets all kernels on {@code jobs} threads. A failure of one does not affect the others.
     *
     * @param beat receives each result on this thread when it is there, and every second none
     * @return the results in the order of the manifest
     */
    List<KernelResult> runAll(
            List<KernelSpec> kernels,
            int jobs,
            ProgressLine progress,
            Consumer<Optional<KernelResult>> beat)
            throws InterruptedException {
        AtomicInteger begun = new AtomicInteger();
        ExecutorService threads = Executors.newFixedThreadPool(
                Math.clamp(kernels.size(), 1, jobs),
                Thread.ofPlatform().daemon().name("granary-job-", 1).factory());
        try {
            ExecutorCompletionService<KernelResult> completed =
                    new ExecutorCompletionService<>(threads);
            Map<Integer, Future<KernelResult>> tasks = new TreeMap<>(); // in order of the manifest
            List<Integer> order =
                    new ArrayList<>(IntStream.range(0, kernels.size()).boxed().toList());
            Collections.shuffle(order); // machines with one manifest divide it by their claims
            for (int i : order) {
                KernelSpec kernel = kernels.get(i);
                tasks.put(i, completed.submit(() -> {
                    progress.at(begun.getAndIncrement(), kernel.name());
                    return runOne(kernel);
                }));
            }
            for (int left = tasks.size(); left > 0; ) {
                Future<KernelResult> task = completed.poll(1, TimeUnit.SECONDS);
                left -= task == null ? 0 : 1;
                beat.accept(task == null ? Optional.empty() : Optional.of(task.get()));
            }
            return tasks.values().stream().map(Future::resultNow).toList();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        } finally {
            threads.shutdownNow();
        }
    }

    private KernelResult runOne(KernelSpec kernel) {
        long start = System.nanoTime();
        KernelSourceResolver.Resolved resolved;
        try {
            resolved = KernelSourceResolver.resolve(kernel, engine.target());
        } catch (IOException | IllegalArgumentException e) {
            return failed(
                    kernel,
                    start,
                    e instanceof IOException ? Outcome.UNREADABLE : Outcome.FAILED_TO_COMPILE,
                    String.valueOf(e.getMessage()),
                    new BuildLog("", new KernelSources(kernel.sources().getFirst(), Map.of())));
        }
        Id id = resolved.descriptor().getId();
        try {
            LookupResult<? extends Primitive> lookup =
                    granary.lookup(engine, resolved.descriptor());
            // makes some drivers finish compiling
            long bytes = lookup.primitive().getBinaries(BinaryKind.KERNEL).byteSize();
            // stores the entry for other processes now, not at the end
            granary.flush(Duration.ZERO);
            return new KernelResult(
                    kernel.name(),
                    engine.target(),
                    Outcome.of(lookup.source()),
                    Optional.of(id),
                    lookup.layer(),
                    lookup.from(),
                    Duration.ofNanos(System.nanoTime() - start),
                    lookup.waited(),
                    bytes,
                    id.isEmpty() ? "is not cached: " + id.reason() : "",
                    Optional.empty());
        } catch (CompileException e) {
            return failed(
                    kernel,
                    start,
                    Outcome.of(e),
                    e.reason(),
                    new BuildLog(e.buildLog(), resolved.sources()));
        } catch (RuntimeException e) {
            StringWriter trace = new StringWriter();
            e.printStackTrace(new PrintWriter(trace, true));
            return failed(
                    kernel,
                    start,
                    Outcome.INTERNAL_ERROR,
                    "internal error of Granary, not of the kernel; please report it",
                    new BuildLog(SecretRedactor.redact(trace.toString()), resolved.sources()));
        }
    }

    private KernelResult failed(
            KernelSpec kernel, long start, Outcome outcome, String failure, BuildLog log) {
        return new KernelResult(
                kernel.name(),
                engine.target(),
                outcome,
                Optional.empty(),
                OptionalInt.empty(),
                Optional.empty(),
                Duration.ofNanos(System.nanoTime() - start),
                Duration.ZERO,
                0,
                failure,
                Optional.of(log));
    }
}
