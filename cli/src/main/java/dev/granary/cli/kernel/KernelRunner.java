package dev.granary.cli.kernel;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Id;
import dev.granary.cache.Primitive;
import dev.granary.cache.support.Ticker;
import dev.granary.cli.manifest.KernelSourceResolver;
import dev.granary.cli.manifest.KernelSources;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
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
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Runner that gets the kernels of a manifest through the cache. */
final class KernelRunner {
    /** The longest wait for a publication while kernels are compiled. */
    static final Duration PUBLISH_LIMIT = Duration.ofSeconds(30);

    private final Granary granary;
    private final Engine<KernelDescriptor, ?> engine;

    KernelRunner(Granary granary, Engine<KernelDescriptor, ?> engine) {
        this.granary = granary;
        this.engine = engine;
    }

    /** Returns the kernels without those that were recorded for engines of other kinds. */
    static List<KernelSpec> of(Engine<KernelDescriptor, ?> engine, List<KernelSpec> kernels) {
        return kernels.stream()
                .filter(kernel -> kernel.isFor(engine.target().backend()))
                .toList();
    }

    /**
     * Reports the kernels that were recorded for engines of other kinds than all of these.
     *
     * @return their number
     * @throws CommandFailedException if all kernels are
     */
    static int addOthers(
            List<? extends Engine<KernelDescriptor, ?>> engines,
            List<KernelSpec> kernels,
            Report report) {
        List<KernelSpec> others = kernels.stream()
                .filter(kernel -> engines.stream()
                        .noneMatch(engine -> kernel.isFor(engine.target().backend())))
                .toList();
        String text = "recorded for other engines: "
                + others.stream()
                        .flatMap(kernel -> kernel.recordedIds().stream())
                        .map(id -> id.target().backend().path())
                        .distinct()
                        .collect(Collectors.joining(", "));
        if (!others.isEmpty() && others.size() == kernels.size()) {
            throw new CommandFailedException(Units.plural(others.size(), "kernel") + " " + text
                    + ", so nothing was compiled; populate --engine names an engine of your own");
        }
        report.count("otherEngines", others.size(), "kernel", text + ", and left out");
        return others.size();
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
     * Gets all kernels on {@code jobs} threads: first those that no other machine compiles, so that
     * machines with one manifest divide it. A failure of one does not affect the others.
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
            ExecutorCompletionService<Map.Entry<Integer, Optional<KernelResult>>> completed =
                    new ExecutorCompletionService<>(threads);
            List<Integer> order =
                    new ArrayList<>(IntStream.range(0, kernels.size()).boxed().toList());
            Collections.shuffle(order); // each machine begins with other kernels
            for (int i : order) {
                completed.submit(() -> {
                    progress.at(begun.getAndIncrement(), kernels.get(i).name());
                    return Map.entry(i, runOne(kernels.get(i), false));
                });
            }
            Map<Integer, KernelResult> results = new TreeMap<>(); // in the order of the manifest
            List<Integer> elsewhere = new ArrayList<>();
            while (results.size() < kernels.size()) {
                Future<Map.Entry<Integer, Optional<KernelResult>>> task =
                        completed.poll(1, TimeUnit.SECONDS);
                Optional<KernelResult> result = Optional.empty();
                if (task != null) {
                    int i = task.get().getKey();
                    result = task.get().getValue();
                    result.ifPresentOrElse(each -> results.put(i, each), () -> elsewhere.add(i));
                }
                beat.accept(result);
                if (!elsewhere.isEmpty() && results.size() + elsewhere.size() == kernels.size()) {
                    granary.flush(PUBLISH_LIMIT); // other machines wait for these as well
                    for (int i : elsewhere) {
                        completed.submit(() -> Map.entry(i, runOne(kernels.get(i), true)));
                    }
                    elsewhere.clear();
                }
            }
            return List.copyOf(results.values());
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        } finally {
            threads.shutdownNow();
        }
    }

    /** Gets a kernel; empty if another machine compiles it, unless this one {@code waits}. */
    private Optional<KernelResult> runOne(KernelSpec kernel, boolean waits) {
        long start = System.nanoTime();
        KernelSourceResolver.Resolved resolved;
        try {
            resolved = KernelSourceResolver.resolve(kernel, engine.target());
        } catch (IOException | IllegalArgumentException e) {
            return Optional.of(failed(
                    kernel,
                    start,
                    e instanceof IOException ? Outcome.UNREADABLE : Outcome.FAILED_TO_COMPILE,
                    String.valueOf(e.getMessage()),
                    new BuildLog("", new KernelSources(kernel.sources().getFirst(), Map.of()))));
        }
        Id id = resolved.descriptor().getId();
        try {
            Optional<? extends LookupResult<? extends Primitive>> found = waits
                    ? Optional.of(granary.lookup(engine, resolved.descriptor()))
                    : granary.lookupUnclaimed(engine, resolved.descriptor());
            if (found.isEmpty()) {
                return Optional.empty();
            }
            LookupResult<? extends Primitive> lookup = found.get();
            // makes some drivers finish compiling
            long bytes = lookup.primitive().getBinaries(BinaryKind.KERNEL).byteSize();
            // stores the entry for other processes now, not at the end
            granary.flush(Duration.ZERO);
            return Optional.of(new KernelResult(
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
                    Optional.empty()));
        } catch (CompileException e) {
            return Optional.of(failed(
                    kernel,
                    start,
                    Outcome.of(e),
                    e.reason(),
                    new BuildLog(e.buildLog(), resolved.sources())));
        } catch (RuntimeException e) {
            StringWriter trace = new StringWriter();
            e.printStackTrace(new PrintWriter(trace, true));
            return Optional.of(failed(
                    kernel,
                    start,
                    Outcome.INTERNAL_ERROR,
                    "internal error of Granary, not of the kernel; please report it",
                    new BuildLog(SecretRedactor.redact(trace.toString()), resolved.sources())));
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

    /**
     * The periodic work of {@code populate} while kernels are compiled. It logs the progress and
     * each failure, for outputs that are no terminal. It publishes the compiled kernels, so that a
     * killed command loses little. Not thread-safe.
     */
    static final class Pulse implements Consumer<Optional<KernelResult>> {
        static final Duration LOG_INTERVAL = Duration.ofSeconds(30);
        static final Duration PUBLISH_INTERVAL = Duration.ofMinutes(2);

        private final int total;
        private final Ticker ticker;
        private final Consumer<String> log;
        private final Runnable publish;
        private long logged;
        private long published;
        private int done;
        private int failed;
        private int unpublished; // obtained since the last time

        /**
         * Creates a pulse.
         *
         * @param log receives lines; a terminal shows the progress without
         */
        Pulse(int total, Ticker ticker, Consumer<String> log, Runnable publish) {
            this.total = total;
            this.ticker = ticker;
            this.log = log;
            this.publish = publish;
            this.logged = ticker.nanos();
            this.published = ticker.nanos();
        }

        /** Takes the result of a kernel, or none if time has passed without one. */
        @Override
        public void accept(Optional<KernelResult> result) {
            if (result.isPresent()) {
                done++;
                if (result.get().outcome().isSuccess()) {
                    unpublished++;
                } else {
                    failed++;
                    log.accept(result.get().name() + " for "
                            + result.get().target().path() + ": " + result.get().outcome() + ": "
                            + result.get().failure());
                }
            }
            if (ticker.nanos() - logged >= LOG_INTERVAL.toNanos()) {
                logged = ticker.nanos();
                log.accept("populating: " + Units.count(done) + " of "
                        + Units.plural(total, "kernel") + ", " + Units.count(failed) + " failed");
            }
            if (unpublished > 0 && ticker.nanos() - published >= PUBLISH_INTERVAL.toNanos()) {
                publish.run();
                unpublished = 0;
                published = ticker.nanos();
            }
        }
    }
}
