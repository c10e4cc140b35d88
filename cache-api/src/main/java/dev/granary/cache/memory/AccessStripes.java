package dev.granary.cache.memory;

import java.util.Arrays;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The stripes of one cache, each owned by one thread. A thread that comes again and again gets one; who has none, because it comes seldom or because
 * too many threads live, is one of the crowd. Thread-safe.
 */
final class AccessStripes {
    private static final int LEAST = 64;
    private static final int PER_PROCESSOR = 4;
    private static final int PLACES_OF_ONE = 4;
    private static final int STEP = 21; // between the places of one thread
    private static final int VISITS = 16; // in the crowd, without another visitor at the same place, before a thread gets a stripe

    private final long[][] notes; // of the stripes, by place
    private final AccessStripe[] table; // by the last bits of the owner's id, or at another place of that thread
    private final long[] visitors; // who of the crowd came last, and how often it came; races lose visits
    private final int[] visits;
    private final LongAdder crowdHits = new LongAdder();
    private volatile AccessStripe[] owned = {}; // those of the table that were ever owned

    AccessStripes() {
        int places = Math.max(LEAST, Integer.highestOneBit(2 * PER_PROCESSOR * Runtime.getRuntime().availableProcessors() - 1));
        notes = new long[places][];
        table = new AccessStripe[places];
        Arrays.setAll(table, place -> new AccessStripe(notes, place));
        visitors = new long[places];
        visits = new int[places];
    }

    /** What {@link AccessStripe#of} takes. */
    long[][] notes() {
        return notes;
    }

    /** The stripe of this thread; null where it belongs to the crowd. */
    @Nullable AccessStripe mine() {
        long id = Thread.currentThread().threadId();
        for (int i = 0; i < PLACES_OF_ONE; i++) {
            AccessStripe stripe = table[place(id, i)];
            if (stripe.isOf(id)) {
                return stripe;
            }
        }
        int first = place(id, 0);
        if (visitors[first] != id) {
            visitors[first] = id;
            visits[first] = 0;
            return null;
        }
        return ++visits[first] < VISITS ? null : settle();
    }

    /** Counts a hit of this thread. */
    void count() {
        AccessStripe stripe = mine();
        if (stripe != null) {
            stripe.count();
        } else {
            countCrowd();
        }
    }

    /** Counts a hit of a thread of the crowd. */
    void countCrowd() {
        crowdHits.increment();
    }

    /** The hits of all threads. */
    long hits() {
        long sum = crowdHits.sum();
        for (AccessStripe stripe : owned) {
            sum += stripe.hits();
        }
        return sum;
    }

    /** All stripes in which something may have been noted; not to be changed. */
    AccessStripe[] owned() {
        return owned;
    }

    private int place(long id, int number) {
        return ((int) id + number * STEP) & (table.length - 1);
    }

    private synchronized @Nullable AccessStripe settle() {
        Thread me = Thread.currentThread();
        visits[place(me.threadId(), 0)] = 0;
        for (int i = 0; i < PLACES_OF_ONE; i++) {
            int place = place(me.threadId(), i);
            AccessStripe former = table[place];
            if (former.isAbandoned()) {
                AccessStripe mine = new AccessStripe(former);
                AccessStripe[] all = Arrays.stream(owned).filter(stripe -> stripe != former).toArray(AccessStripe[]::new);
                all = Arrays.copyOf(all, all.length + 1);
                all[all.length - 1] = mine;
                owned = all;
                table[place] = mine;
                return mine;
            }
        }
        return null;
    }
}
