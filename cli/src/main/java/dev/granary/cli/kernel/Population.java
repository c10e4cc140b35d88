package dev.granary.cli.kernel;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.tier.TierFactory;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;
import java.util.stream.Collectors;

/**
 * The entries that {@code populate} should have published: those of the kernels, and of the
 * intermediate programs compiled for them. Not thread-safe.
 */
final class Population {
    private final BucketConfig target;
    private final Publications published;
    private final List<KernelResult> obtained;
    private final Set<Id> expected = new LinkedHashSet<>();
    private final Set<Id> confirmed = new LinkedHashSet<>(); // acknowledged, or found there
    private final long present;
    private final long pending;
    private Map<Id, String> unreadable = Map.of();

    /** Creates it; {@code position} is that of the bucket in the order of lookups. */
    Population(
            BucketConfig target,
            int position,
            Publications published,
            List<KernelResult> obtained) {
        this.target = target;
        this.published = published;
        this.obtained = obtained;
        obtained.forEach(result -> result.entry().ifPresent(expected::add));
        expected.addAll(published.intermediate());
        expected.stream().filter(published::isConfirmed).forEach(confirmed::add);
        // an entry from the bucket was not published by this process; it is only read back
        Set<Id> found = obtained.stream()
                .filter(result -> result.layer().orElse(-1) == position)
                .flatMap(result -> result.entry().stream())
                .filter(id -> !published.isAnswered(id))
                .collect(Collectors.toSet());
        confirmed.addAll(found);
        this.present = published.count(StoreResult.Duplicate.class) + found.size();
        this.pending = expected.stream()
                .filter(id -> !confirmed.contains(id) && !published.isAnswered(id))
                .count();
    }

    /** Reads back all that the bucket has confirmed. */
    void readBack(PrintWriter err) throws ConfigException, InterruptedException {
        try (ProgressLine progress = new ProgressLine(err, "reading back", 0)) {
            unreadable = new ReadbackVerifier(
                            target, ReadbackVerifier.SILENCE, ReadbackVerifier.PAUSE)
                    .unreadable(
                            confirmed,
                            read -> progress.passing(() ->
                                    Units.count(read) + " of " + Units.count(confirmed.size())));
        }
    }

    /** Returns true if every kernel, and all else that was published, can be read back. */
    boolean isComplete() {
        return results().stream().allMatch(result -> result.outcome().isSuccess())
                && confirmed.containsAll(expected)
                && unreadable.isEmpty();
    }

    /** Returns the ids of the entries that are read back. */
    Set<Id> expected() {
        return Set.copyOf(expected);
    }

    /** Returns the results of the kernels, with those of publishing. */
    List<KernelResult> results() {
        return obtained.stream().map(this::result).toList();
    }

    private KernelResult result(KernelResult result) {
        if (result.id().isEmpty()) {
            return result;
        }
        Id id = result.id().get();
        if (id.isEmpty()) {
            return result.failed(Outcome.NOT_CACHEABLE, result.failure());
        }
        if (!confirmed.contains(id)) {
            return result.failed(
                    Outcome.NOT_STORED, published.failure(id).orElse("the bucket did not answer"));
        }
        return unreadable.containsKey(id)
                ? result.failed(Outcome.NOT_READ_BACK, unreadable.get(id))
                : result;
    }

    /** Adds the numbers of entries, and each cause of a missing one once, with its remedy. */
    void addTo(Report report, int uploadLimit, String remedy) {
        long stored = published.count(StoreResult.Stored.class);
        long divergent = published.count(StoreResult.Divergent.class);
        report.data(
                "published",
                Map.of(
                        "stored", stored,
                        "present", present,
                        "divergent", divergent,
                        "failed", published.failed(),
                        "pending", pending,
                        "unreadable", unreadable.size(),
                        "readBack", confirmed.size() - unreadable.size()));
        report.line(target.address() + ": " + stored + " published, "
                + present + " there already, " + published.failed() + " failed"
                + (divergent == 0 ? "" : ", " + divergent + " there with other binaries")
                + (pending == 0 ? "" : ", " + pending + " pending")
                + (unreadable.isEmpty()
                        ? ""
                        : ", " + unreadable.size() + " of them cannot be read"));
        published
                .causes()
                .forEach((cause, id) -> report.problem("not published: " + id + ": " + cause));
        if (pending > 0) {
            report.problem("not published: " + Units.plural(pending, "entry") + ": no answer from "
                    + target.name() + " within " + uploadLimit + " s (--upload-limit)");
        }
        Map<String, Id> examples = new TreeMap<>();
        unreadable.forEach((id, cause) -> examples.putIfAbsent(cause, id));
        examples.forEach((cause, id) ->
                report.problem("published, but cannot be read back: " + id + ": " + cause));
        if (confirmed.size() < expected.size() || !unreadable.isEmpty()) {
            report.problem(remedy);
        }
    }

    /**
     * Verifier that reads entries back from one bucket, as a process with an empty directory would:
     * each complete, and without cached state. Not thread-safe.
     *
     * <p>Only a complete entry counts. An object with the right name may be damaged, and a cached
     * index may name a pack that is gone.
     */
    static final class ReadbackVerifier {
        /** The time without a readable entry after which the verification ends. */
        static final Duration SILENCE = Duration.ofSeconds(30);

        private static final int MAX_CONCURRENT = 8;
        private static final int MAX_ROUNDS = 3;
        private static final Duration PAUSE = Duration.ofSeconds(1);

        private final BucketConfig bucket;
        private final Duration timeout;
        private final Duration pause;
        private final AtomicInteger readCount = new AtomicInteger();
        private final AtomicLong lastReadNanos = new AtomicLong();

        ReadbackVerifier(BucketConfig bucket, Duration timeout, Duration pause) {
            this.bucket = bucket;
            this.timeout = timeout;
            this.pause = pause;
        }

        /**
         * Reads each of {@code ids}. Failed reads are repeated through new clients, at most three
         * rounds in all.
         *
         * @param progress receives the number of entries read so far, on several threads
         */
        Map<Id, String> unreadable(Collection<Id> ids, IntConsumer progress)
                throws ConfigException, InterruptedException {
            lastReadNanos.set(System.nanoTime());
            Map<Id, String> unreadable = round(ids, progress);
            for (int more = MAX_ROUNDS - 1;
                    more > 0 && !unreadable.isEmpty() && !isTimedOut();
                    more--) {
                Thread.sleep(pause);
                unreadable = round(unreadable.keySet(), progress);
            }
            return unreadable;
        }

        private Map<Id, String> round(Collection<Id> ids, IntConsumer progress)
                throws ConfigException, InterruptedException {
            Map<Id, String> unreadable = new ConcurrentHashMap<>();
            try (PersistentCache reader = TierFactory.openForBackground(bucket);
                    ExecutorService threads = Executors.newFixedThreadPool(
                            MAX_CONCURRENT, DaemonThreads.named("granary-readback"))) {
                for (Id id : ids) {
                    threads.execute(() -> {
                        try {
                            problem(id, reader, progress)
                                    .ifPresent(cause -> unreadable.put(id, cause));
                        } catch (RuntimeException e) {
                            unreadable.put(id, e.toString());
                        }
                    });
                }
            }
            if (Thread.interrupted()) { // not all were read
                throw new InterruptedException();
            }
            return unreadable;
        }

        /** Returns why the reader has no sound entry of {@code id}; empty if it has one. */
        private Optional<String> problem(Id id, PersistentCache reader, IntConsumer progress) {
            if (isTimedOut()) {
                return Optional.of("nothing could be read for " + timeout.toSeconds() + " s");
            }
            return switch (reader.load(id)) {
                case LoadResult.Hit _ -> {
                    lastReadNanos.set(System.nanoTime());
                    progress.accept(readCount.incrementAndGet());
                    yield Optional.empty();
                }
                case LoadResult.Absent _ -> Optional.of("the entry is absent");
                case LoadResult.Damaged bad ->
                    Optional.of("the entry is damaged (" + bad.detail() + ")");
                case LoadResult.Unavailable lost -> Optional.of(lost.cause());
            };
        }

        private boolean isTimedOut() {
            return System.nanoTime() - lastReadNanos.get() > timeout.toNanos();
        }
    }
}
