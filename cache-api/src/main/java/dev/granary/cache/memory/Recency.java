package dev.granary.cache.memory;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Knows of all kept values which was used longest ago. Uses are noted by any thread without a lock; everything else is under the lock of the caller.
 *
 * <p>Values are numbered, so that a thread can note a use in an array of its own. For eviction all values are sorted by their last use, once, and
 * then taken in that order; one that was used since is passed over: it is younger than all that were sorted. Only when none is left they are
 * sorted again. So of all values each is looked at once for each time that it leaves or was used: the cost of an eviction does not
 * grow with their number.
 */
final class Recency<K, V> implements RecencyClock.Timekeeper {
    private static final int FIRST_SLOTS = 64;
    private static final int SLACK = 64; // numbers that may be unused before the values are numbered anew

    private final Stripes stripes;
    private final RecencyClock clock;
    private final AtomicLong crowdTime = new AtomicLong(); // of all threads without a stripe
    private @Nullable Slot<K, V>[] slots = array(FIRST_SLOTS);
    private int end; // no number is as high
    private int[] free = new int[FIRST_SLOTS];
    private int freeCount;
    private long[] queue = {}; // stamp and number of each value when they were sorted
    private int next; // in the queue
    private long base; // what stamps in the queue are counted from
    private int numberBits;

    Recency(Stripes stripes, RecencyClock clock) {
        this.stripes = stripes;
        this.clock = clock;
    }

    @Override
    public long time() {
        return crowdTime.get();
    }

    @Override
    public void lose() {}

    int size() {
        return end - freeCount;
    }

    /** A slot for a new value, used now. */
    Slot<K, V> add(K key, V value) {
        Stripe mine = stripes.mine();
        if (mine != null) {
            mine.refresh();
        }
        long now = latest() + 1;
        clock.passed(now);
        int number = freeCount > 0 ? free[--freeCount] : end++;
        if (number == slots.length) {
            slots = Arrays.copyOf(slots, 2 * number);
        }
        Slot<K, V> slot = new Slot<>(key, key.hashCode(), value, number, now);
        slots[number] = slot;
        return slot;
    }

    /** Takes out the value that was used longest ago; there must be one. */
    Slot<K, V> removeOldest() {
        while (next < queue.length) {
            Slot<K, V> slot = slot(number(queue[next]));
            long known = base + (queue[next++] >>> numberBits);
            if (stamp(slot) <= known) {
                return remove(slot);
            }
        }
        sort();
        return remove(slot(number(queue[next++]))); // whatever threads do in this moment
    }

    private Slot<K, V> remove(Slot<K, V> slot) {
        slots[slot.index] = null;
        if (freeCount == free.length) {
            free = Arrays.copyOf(free, 2 * freeCount);
        }
        free[freeCount++] = slot.index;
        return slot;
    }

    /** Notes a use by a thread without a stripe, and counts it as a hit. Any thread, without the lock. */
    void useOfCrowd(Slot<K, V> slot) {
        stripes.countCrowd();
        while (true) {
            RecencyClock.Timekeeper former = clock.current();
            long now = former == this
                    ? crowdTime.incrementAndGet()
                    : crowdTime.accumulateAndGet(former.time(), (mine, theirs) -> Math.max(mine, theirs) + 1);
            if (former == this || clock.pass(former, this)) {
                slot.stamp = Math.max(slot.stamp, now);
                return;
            }
        }
    }

    /** No use that is ordered before has a later time. */
    private long latest() {
        long latest = Math.max(time(), clock.current().time());
        for (Stripe stripe : stripes.owned()) {
            latest = Math.max(latest, stripe.time());
        }
        return latest;
    }

    private long stamp(Slot<K, V> slot) {
        long stamp = slot.stamp;
        for (Stripe stripe : stripes.owned()) {
            stamp = Math.max(stamp, stripe.stamp(slot.index));
        }
        return stamp;
    }

    private void sort() {
        if (freeCount > size() + SLACK) {
            renumber();
        }
        long[] stamps = new long[end];
        long oldest = Long.MAX_VALUE;
        long latest = 0;
        for (int i = 0; i < end; i++) {
            Slot<K, V> slot = slots[i];
            stamps[i] = slot == null ? -1 : stamp(slot);
            oldest = slot == null ? oldest : Math.min(oldest, stamps[i]);
            latest = Math.max(latest, stamps[i]);
        }
        numberBits = Integer.SIZE - Integer.numberOfLeadingZeros(end);
        // Beyond so many uses back, which for a million values is days of nothing but hits, all count as equally old.
        base = Math.max(oldest, latest - (Long.MAX_VALUE >>> numberBits));
        queue = new long[size()];
        next = 0;
        int sorted = 0;
        for (int i = 0; i < end; i++) {
            if (stamps[i] >= 0) {
                queue[sorted++] = (Math.max(stamps[i], base) - base) << numberBits | i;
            }
        }
        Arrays.sort(queue);
    }

    private int number(long queued) {
        return (int) (queued & ((1L << numberBits) - 1));
    }

    /** Gives the values the lowest numbers, after many have left. */
    private void renumber() {
        Slot<K, V>[] kept = array(Math.max(FIRST_SLOTS, size()));
        int count = 0;
        for (int i = 0; i < end; i++) {
            Slot<K, V> slot = slots[i];
            if (slot != null) {
                slot.stamp = stamp(slot);
                kept[count++] = slot;
            }
        }
        for (Stripe stripe : stripes.owned()) {
            stripe.forget();
        }
        for (int i = 0; i < count; i++) {
            slot(kept, i).index = i;
        }
        slots = kept;
        end = count;
        free = new int[FIRST_SLOTS];
        freeCount = 0;
    }

    private Slot<K, V> slot(int number) {
        return slot(slots, number);
    }

    private static <K, V> Slot<K, V> slot(@Nullable Slot<K, V>[] slots, int number) {
        Slot<K, V> slot = slots[number];
        if (slot == null) {
            throw new IllegalStateException("No value has the number " + number);
        }
        return slot;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static <K, V> @Nullable Slot<K, V>[] array(int length) {
        return new Slot[length];
    }
}
