package dev.granary.s3.resilience;

import dev.granary.cache.support.Ticker;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/** Bounded set whose elements expire; the oldest is evicted first. Thread-safe. */
public final class ExpiringSet<E> {
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<E, Long> addedAt;
    private final long lifetimeNanos;
    private final Ticker ticker;
    private long removals;

    public ExpiringSet(int capacity, Duration lifetime, Ticker ticker) {
        this.lifetimeNanos = lifetime.toNanos();
        this.ticker = ticker;
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
            if (added != null && ticker.nanos() - added >= lifetimeNanos) {
                addedAt.remove(element);
                return false;
            }
            return added != null;
        } finally {
            lock.unlock();
        }
    }

    /** Returns a mark for {@link #add}, to be taken before the request whose result is added. */
    public long mark() {
        lock.lock();
        try {
            return removals;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Adds an element, unless one was removed since {@code mark}: the result may then be outdated.
     */
    public void add(E element, long mark) {
        lock.lock();
        try {
            if (removals == mark && lifetimeNanos > 0) {
                addedAt.remove(element); // moves it to the end
                addedAt.put(element, ticker.nanos());
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
