package dev.granary.cache.memory;

import java.util.concurrent.atomic.AtomicLong;

/** The order of values that many threads use: uses are noted without a lock, by any thread; everything else is under the lock of the caller. */
final class ConcurrentLru<K, V> extends GenerationalLru<K, V> implements LogicalClock.Timekeeper {
    private final AccessStripes stripes;
    private final LogicalClock clock;
    private final AtomicLong crowdTime = new AtomicLong(); // of all threads without a stripe

    ConcurrentLru(AccessStripes stripes, LogicalClock clock) {
        this.stripes = stripes;
        this.clock = clock;
    }

    @Override
    public long time() {
        return crowdTime.get();
    }

    @Override
    public void lose() {}

    /** A slot for a new value, used now. */
    CacheSlot<K, V> add(K key, V value) {
        AccessStripe mine = stripes.mine();
        if (mine != null) {
            mine.refresh();
        }
        long now = latest() + 1;
        clock.passed(now);
        return add(key, value, now);
    }

    /** Notes a use by a thread without a stripe, and counts it as a hit. Any thread, without the lock. */
    void useOfCrowd(CacheSlot<K, V> slot) {
        stripes.countCrowd();
        while (true) {
            LogicalClock.Timekeeper former = clock.current();
            long now = former == this
                    ? crowdTime.incrementAndGet()
                    : crowdTime.accumulateAndGet(former.time(), (mine, theirs) -> Math.max(mine, theirs) + 1);
            if (former == this || clock.pass(former, this)) {
                note(slot, now);
                return;
            }
        }
    }

    @Override
    long stamp(int number) {
        long stamp = super.stamp(number);
        for (AccessStripe stripe : stripes.owned()) {
            stamp = Math.max(stamp, stripe.stamp(number));
        }
        return stamp;
    }

    @Override
    void renumbered() {
        for (AccessStripe stripe : stripes.owned()) {
            stripe.forget();
        }
    }

    /** No use that is ordered before has a later time. */
    private long latest() {
        long latest = Math.max(time(), clock.current().time());
        for (AccessStripe stripe : stripes.owned()) {
            latest = Math.max(latest, stripe.time());
        }
        return latest;
    }
}
