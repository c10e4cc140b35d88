package dev.granary.cache.memory;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.concurrent.atomic.LongAdder;

/**
 * The access stripes of one cache: records of hits and last uses, each written by one thread. A
 * thread that accesses the cache often gets a {@linkplain AccessStripe stripe}. Threads with few
 * accesses, or beyond the number of stripes, share counters. Thread-safe.
 */
final class AccessStripes {
    private static final int MIN_STRIPES = 64;
    private static final int STRIPES_PER_PROCESSOR = 4;
    private static final int PROBES = 4;
    private static final int PROBE_STEP = 21; // between the indexes of one thread
    private static final int VISITS_BEFORE_OWNING = 16; // consecutive at one index

    private final long[][] cells; // of the stripes, by index
    private final AccessStripe[] table; // at one of the owner's probe indexes
    private final long[] lastVisitors; // ids of the last threads without a stripe, by index
    private final int[] visits; // consecutive visits of the last visitor; races lose some
    private final LongAdder sharedHits = new LongAdder();
    private volatile AccessStripe[] owned = {}; // stripes of the table that have had an owner

    AccessStripes() {
        int length = Math.max(
                MIN_STRIPES,
                Integer.highestOneBit(
                        2 * STRIPES_PER_PROCESSOR * Runtime.getRuntime().availableProcessors()
                                - 1));
        cells = new long[length][];
        table = new AccessStripe[length];
        Arrays.setAll(table, index -> new AccessStripe(cells, index));
        lastVisitors = new long[length];
        visits = new int[length];
    }

    /** Returns the cells to pass to {@link AccessStripe#cellsOf}. */
    long[][] cells() {
        return cells;
    }

    /** Returns the stripe of this thread, or null if it has none. */
    @Nullable
    AccessStripe ofCurrentThread() {
        long id = Thread.currentThread().threadId();
        for (int i = 0; i < PROBES; i++) {
            AccessStripe stripe = table[index(id, i)];
            if (stripe.isOwnedBy(id)) {
                return stripe;
            }
        }
        int first = index(id, 0);
        if (lastVisitors[first] != id) {
            lastVisitors[first] = id;
            visits[first] = 0;
            return null;
        }
        return ++visits[first] < VISITS_BEFORE_OWNING ? null : assign();
    }

    /** Counts a hit of this thread. */
    void countHit() {
        AccessStripe stripe = ofCurrentThread();
        if (stripe != null) {
            stripe.countHit();
        } else {
            countShared();
        }
    }

    /** Counts a hit of a thread without a stripe. */
    void countShared() {
        sharedHits.increment();
    }

    /** Returns the hits of all threads. */
    long hits() {
        long sum = sharedHits.sum();
        for (AccessStripe stripe : owned) {
            sum += stripe.hits();
        }
        return sum;
    }

    /** Returns all stripes that may contain records. The array must not be modified. */
    AccessStripe[] owned() {
        return owned;
    }

    private int index(long id, int probe) {
        return ((int) id + probe * PROBE_STEP) & (table.length - 1);
    }

    private synchronized @Nullable AccessStripe assign() {
        Thread thread = Thread.currentThread();
        visits[index(thread.threadId(), 0)] = 0;
        for (int i = 0; i < PROBES; i++) {
            int index = index(thread.threadId(), i);
            AccessStripe previous = table[index];
            if (previous.isAbandoned()) {
                AccessStripe created = new AccessStripe(previous);
                AccessStripe[] all = Arrays.stream(owned)
                        .filter(stripe -> stripe != previous)
                        .toArray(AccessStripe[]::new);
                all = Arrays.copyOf(all, all.length + 1);
                all[all.length - 1] = created;
                owned = all;
                table[index] = created;
                return created;
            }
        }
        return null;
    }
}
