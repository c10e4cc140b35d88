package dev.granary.cache.memory;

import java.util.Collection;
import java.util.Comparator;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The in-memory cache of created values: least recently used first out, and one build per key however many threads ask. Thread-safe.
 *
 * <p>A hit is one look-up in a {@link ConcurrentHashMap} and at most one step of a logical clock: no lock, no allocation. Recency is exact
 * between uses that are ordered, in one thread or between threads; of several uses of one value in the same moment, any may count as its
 * last. An eviction looks for the oldest among all values; it happens only after a build, which costs far more.
 *
 * <p>While a value is being built, its key is present but not counted in {@link #size()}. A build that fails reaches all callers that
 * waited for it, leaves nothing behind, and the next call builds again. A build may ask this cache, or another, for other keys; a build
 * that needs its own key, directly or through builds of other threads, fails with {@link IllegalStateException} instead of waiting for
 * ever. What cannot be seen is a builder that waits for a thread of its own making: such a thread must not ask for the key that is being
 * built.
 *
 * @param <K> keys, with cheap equality and hash code
 * @param <V> values, shared by all callers
 */
public final class PrimitiveCache<K, V> {
    /** The capacity where nobody chose one, in entries. */
    public static final int DEFAULT_CAPACITY = 1024;

    private final ConcurrentHashMap<K, Slot<V>> slots = new ConcurrentHashMap<>();
    private final ReentrantLock keeping = new ReentrantLock(); // held while a value is added or evicted, never while one is built
    private final LongAdder hits = new LongAdder();
    private final LongAdder misses = new LongAdder();
    private final RecencyClock clock = new RecencyClock();
    private volatile int capacity;
    private int kept; // how many slots have a value; under the lock

    /**
     * An empty cache.
     *
     * @param capacity how many values it keeps; 0 keeps none
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public PrimitiveCache(int capacity) {
        this.capacity = checked(capacity);
    }

    /** Makes the value of a key that is not present. */
    @FunctionalInterface
    public interface Builder<K, V, E extends Exception> {
        /** The value; not null. */
        V build(K key) throws E;
    }

    /**
     * The value of {@code key}, from the cache, from a build that another thread has under way, or from {@code builder}.
     *
     * @throws E what the builder threw, in this thread or in the one that built
     * @throws NullPointerException if the builder returned null, in this thread or in the one that built
     * @throws IllegalStateException if building {@code key} turns out to need {@code key} itself
     */
    public <E extends Exception> V get(K key, Builder<? super K, ? extends V, E> builder) throws E {
        Slot<V> slot = slots.get(key);
        if (slot != null) {
            V value = slot.value();
            if (value != null) {
                slot.touch(clock);
                hits.increment();
                return value;
            }
        }
        return getSlow(key, builder);
    }

    /** The value of {@code key} if it is present; does not count and does not touch. */
    public @Nullable V peek(K key) {
        Slot<V> slot = slots.get(key);
        return slot == null ? null : slot.value();
    }

    /** How many values are kept. */
    public int size() {
        keeping.lock();
        try {
            return kept;
        } finally {
            keeping.unlock();
        }
    }

    /** How many values may be kept. */
    public int capacity() {
        return capacity;
    }

    /**
     * Changes the capacity. Lowering it evicts the least recently used values at once; 0 clears the cache and disables it.
     *
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public void setCapacity(int capacity) {
        this.capacity = checked(capacity);
        evictToCapacity();
    }

    /** How many calls of {@link #get} found a value. */
    public long hits() {
        return hits.sum();
    }

    /** How many calls of {@link #get} did not: they built, or waited for a build. */
    public long misses() {
        return misses.sum();
    }

    private <E extends Exception> V getSlow(K key, Builder<? super K, ? extends V, E> builder) throws E {
        Slot<V> mine = new Slot<>(Thread.currentThread());
        Slot<V> present = slots.putIfAbsent(key, mine);
        if (present != null) {
            V value = present.value();
            if (value != null) {
                present.touch(clock);
                hits.increment();
                return value;
            }
            misses.increment();
            return BuildGraph.PROCESS.await(present);
        }
        misses.increment();
        V value;
        try {
            value = Objects.requireNonNull(builder.build(key), "The builder of a cached value returned null");
        } catch (Throwable failure) {
            slots.remove(key, mine);
            mine.fail(failure);
            throw failure;
        }
        keep(key, mine, value);
        return value;
    }

    private void keep(K key, Slot<V> slot, V value) {
        keeping.lock();
        try {
            if (capacity == 0) {
                slots.remove(key, slot); // first, so that nobody finds it: a cache of no capacity has no hits
                slot.complete(value, clock);
            } else {
                slot.complete(value, clock);
                kept++;
                evictToCapacity();
            }
        } finally {
            keeping.unlock();
        }
    }

    private void evictToCapacity() {
        keeping.lock();
        try {
            int excess = kept - capacity;
            if (excess > 0) {
                oldest(excess).forEach(aged -> {
                    slots.remove(aged.key(), aged.slot());
                    kept--;
                });
            }
        } finally {
            keeping.unlock();
        }
    }

    /** A slot and its stamp as seen once: stamps may move while the oldest are being found. */
    private record Aged<K, V>(K key, Slot<V> slot, long stamp) {}

    /** The {@code count} values with the lowest stamps; one pass, in memory of that count. */
    private Collection<Aged<K, V>> oldest(int count) {
        PriorityQueue<Aged<K, V>> found = new PriorityQueue<>(Comparator.<Aged<K, V>>comparingLong(Aged::stamp).reversed());
        for (var entry : slots.entrySet()) {
            Slot<V> slot = entry.getValue();
            Aged<K, V> youngest = found.peek();
            if (slot.value() != null && (youngest == null || found.size() < count || slot.stamp() < youngest.stamp())) {
                found.add(new Aged<>(entry.getKey(), slot, slot.stamp()));
                if (found.size() > count) {
                    found.remove();
                }
            }
        }
        return found;
    }

    private static int checked(int capacity) {
        if (capacity < 0) {
            throw new IllegalArgumentException("The capacity of the primitive cache must be 0 or more, not " + capacity);
        }
        return capacity;
    }
}
