package dev.granary.cache.memory;

import java.util.concurrent.atomic.AtomicLong;

/**
 * An LRU order for many threads. Any thread records uses without a lock; all other methods require
 * the caller's lock.
 */
final class ConcurrentLru<K, V> extends GenerationalLru<K, V> implements LogicalClock.Timekeeper {
    private final AccessStripes stripes;
    private final LogicalClock clock;
    private final AtomicLong sharedTime = new AtomicLong(); // of threads without a stripe

    ConcurrentLru(AccessStripes stripes, LogicalClock clock) {
        this.stripes = stripes;
        this.clock = clock;
    }

    @Override
    public long time() {
        return sharedTime.get();
    }

    @Override
    public void turnLost() {}

    /** Adds a value, used now, and returns its slot. */
    CacheSlot<K, V> add(K key, V value) {
        AccessStripe own = stripes.ofCurrentThread();
        if (own != null) {
            own.permitTurns();
        }
        long now = latest() + 1;
        clock.advance(now);
        return add(key, value, now);
    }

    /**
     * Records a use by a thread without a stripe and counts it as a hit. Any thread may call it,
     * without the lock.
     */
    void recordShared(CacheSlot<K, V> slot) {
        stripes.countShared();
        while (true) {
            LogicalClock.Timekeeper previous = clock.current();
            long now = previous == this
                    ? sharedTime.incrementAndGet()
                    : sharedTime.accumulateAndGet(
                            previous.time(), (own, other) -> Math.max(own, other) + 1);
            if (previous == this || clock.pass(previous, this)) {
                recordUse(slot, now);
                return;
            }
        }
    }

    @Override
    long lastUse(int number) {
        long lastUse = super.lastUse(number);
        for (AccessStripe stripe : stripes.owned()) {
            lastUse = Math.max(lastUse, stripe.lastUse(number));
        }
        return lastUse;
    }

    @Override
    void onRenumber() {
        for (AccessStripe stripe : stripes.owned()) {
            stripe.discardUses();
        }
    }

    /** Returns a time that is not before any use ordered before this call. */
    private long latest() {
        long latest = Math.max(time(), clock.current().time());
        for (AccessStripe stripe : stripes.owned()) {
            latest = Math.max(latest, stripe.time());
        }
        return latest;
    }
}
