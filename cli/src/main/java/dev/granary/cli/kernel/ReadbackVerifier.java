package dev.granary.cli.kernel;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.tier.TierFactory;

import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;

/**
 * Verifier that reads entries back from one bucket, as a process with an empty directory would:
 * each complete, and without cached state. Not thread-safe.
 *
 * <p>Only a complete entry counts. An object with the right name may be damaged, and a cached index
 * may name a pack that is gone.
 */
final class ReadbackVerifier {
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

    ReadbackVerifier(BucketConfig bucket) {
        this(bucket, SILENCE, PAUSE);
    }

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

    private Map<Id, String> round(Collection<Id> ids, IntConsumer progress) throws ConfigException {
        Map<Id, String> unreadable = new ConcurrentHashMap<>();
        try (PersistentCache reader = TierFactory.openForBackground(bucket);
                ExecutorService threads = Executors.newFixedThreadPool(
                        MAX_CONCURRENT, DaemonThreads.named("granary-readback"))) {
            for (Id id : ids) {
                threads.execute(() -> {
                    try {
                        problem(id, reader, progress).ifPresent(cause -> unreadable.put(id, cause));
                    } catch (RuntimeException e) {
                        unreadable.put(id, e.toString());
                    }
                });
            }
        }
        return unreadable;
    }

    /** Returns the cause why the reader has no sound entry of {@code id}; empty if it has one. */
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
