package dev.granary.local;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;

/**
 * Threads that store entries in one tier as fast as they can, and an account of what became of the stores.
 *
 * @param stored how many stores succeeded
 * @param failed how many did not
 * @param early how many of the failed ones had waited for less than the deadline
 * @param longestMillis how long the longest store took
 * @param reasons of the failures, each once
 */
record ContentionRun(long stored, long failed, long early, long longestMillis, String reasons) {
    /** Runs {@code threads}, each of which stores {@code count} entries of {@code size} bytes that no other thread has. */
    static ContentionRun run(LocalTier tier, long deadlineNanos, String prefix, int threads, int count, int size) throws InterruptedException {
        LongAdder stored = new LongAdder();
        LongAdder failed = new LongAdder();
        LongAdder early = new LongAdder();
        LongAccumulator longest = new LongAccumulator(Math::max, 0);
        Set<String> reasons = new ConcurrentSkipListSet<>();
        CountDownLatch all = new CountDownLatch(threads);
        List<Thread> running = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            String name = name(prefix, t);
            running.add(Thread.ofPlatform().start(() -> {
                all.countDown();
                await(all);
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
                        early.add(took < deadlineNanos ? 1 : 0);
                        reasons.add(result.toString().replaceAll("[0-9]+", "N"));
                    }
                }
            }));
        }
        for (Thread thread : running) {
            thread.join();
        }
        return new ContentionRun(stored.sum(), failed.sum(), early.sum(), longest.get(), String.join("; ", reasons));
    }

    /** How the names of a thread's entries begin. */
    static String name(String prefix, int thread) {
        return prefix + "-" + thread + "-";
    }

    /** What {@link #line()} wrote. */
    static ContentionRun parse(String line) {
        String[] words = line.split(" ", 5);
        return new ContentionRun(Long.parseLong(words[0]), Long.parseLong(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]), words[4]);
    }

    /** The account in one line. */
    String line() {
        return stored + " " + failed + " " + early + " " + longestMillis + " " + reasons;
    }

    /** Both together. */
    ContentionRun and(ContentionRun other) {
        return new ContentionRun(stored + other.stored, failed + other.failed, early + other.early,
                Math.max(longestMillis, other.longestMillis), reasons.equals(other.reasons) ? reasons : (reasons + " " + other.reasons).strip());
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
