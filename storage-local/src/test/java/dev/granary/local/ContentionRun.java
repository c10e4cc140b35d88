package dev.granary.local;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.testing.Await;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;

/**
 * Run of threads that store entries in one tier as fast as they can, with the counts of their
 * outcomes.
 *
 * @param stored number of successful stores
 * @param failed number of failed stores
 * @param longestMillis duration of the longest store in milliseconds
 * @param reasons the distinct reasons of the failures
 */
record ContentionRun(long stored, long failed, long longestMillis, String reasons) {
    /**
     * Runs {@code threads} threads, each of which stores {@code count} entries of {@code size}
     * bytes that no other thread stores.
     */
    static ContentionRun run(LocalTier tier, String prefix, int threads, int count, int size)
            throws InterruptedException {
        LongAdder stored = new LongAdder();
        LongAdder failed = new LongAdder();
        LongAccumulator longest = new LongAccumulator(Math::max, 0);
        Set<String> reasons = new ConcurrentSkipListSet<>();
        CountDownLatch all = new CountDownLatch(threads);
        List<Thread> running = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            String name = name(prefix, t);
            running.add(Thread.ofPlatform().start(() -> {
                all.countDown();
                Await.released(all);
                for (int i = 0; i < count; i++) {
                    Entry entry = SharedEntries.entry(name + i, size);
                    long start = System.nanoTime();
                    StoreResult result = tier.store(entry);
                    long took = System.nanoTime() - start;
                    longest.accumulate(TimeUnit.NANOSECONDS.toMillis(took));
                    if (result instanceof StoreResult.Stored) {
                        stored.increment();
                    } else {
                        failed.increment();
                        reasons.add(result.toString().replaceAll("[0-9]+", "N"));
                    }
                }
            }));
        }
        for (Thread thread : running) {
            thread.join();
        }
        return new ContentionRun(
                stored.sum(), failed.sum(), longest.get(), String.join("; ", reasons));
    }

    /** Returns the prefix of the names of a thread's entries. */
    static String name(String prefix, int thread) {
        return prefix + "-" + thread + "-";
    }

    /** Parses the output of {@link #line()}. */
    static ContentionRun parse(String line) {
        String[] words = line.split(" ", 4);
        return new ContentionRun(
                Long.parseLong(words[0]),
                Long.parseLong(words[1]),
                Long.parseLong(words[2]),
                words[3]);
    }

    /** Returns the counts in one line. */
    String line() {
        return stored + " " + failed + " " + longestMillis + " " + reasons;
    }

    /** Returns the combined counts. */
    ContentionRun and(ContentionRun other) {
        return new ContentionRun(
                stored + other.stored,
                failed + other.failed,
                Math.max(longestMillis, other.longestMillis),
                reasons.equals(other.reasons) ? reasons : (reasons + " " + other.reasons).strip());
    }
}
