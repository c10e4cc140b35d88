package dev.granary.s3.resilience;

import dev.granary.cache.support.Ticker;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/** Elements that are remembered for a while, at most so many: the oldest is forgotten first. Thread-safe. */
public final class ExpiringSet<E> {
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<E, Long> addedAt;
    private final long lifetimeNanos;
    private final Ticker timing;
    private long removals;

    public ExpiringSet(int capacity, Duration lifetime, Ticker timing) {
        this.lifetimeNanos = lifetime.toNanos();
        this.timing = timing;
        this.addedAt = new LinkedHashMap<>() {
            @Override
            protected boolean removeEldestEntry(Map.Entry<E, Long> eldest) {
                return size() > capacity;
            }
        };
    }

    public boolean contains(E element) {
        lock.lock();
        try {
            Long added = addedAt.get(element);
            if (added != null && timing.nanos() - added >= lifetimeNanos) {
                addedAt.remove(element);
                return false;
            }
            return added != null;
        } finally {
            lock.unlock();
        }
    }

    /** A mark for {@link #add}: taken before the question whose answer is to be remembered. */
    public long mark() {
        lock.lock();
        try {
            return removals;
        } finally {
            lock.unlock();
        }
    }

    /** Remembers an element, unless something was removed since {@code mark}: then what was learned may be out of date. */
    public void add(E element, long mark) {
        lock.lock();
        try {
            if (removals == mark && lifetimeNanos > 0) {
                addedAt.remove(element); // so that it goes to the end
                addedAt.put(element, timing.nanos());
            }
        } finally {
            lock.unlock();
        }
    }

    public void remove(E element) {
        lock.lock();
        try {
            removals++;
            addedAt.remove(element);
        } finally {
            lock.unlock();
        }
    }
}
