package dev.granary.cache.memory;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The in-memory cache of created values: bounded, and one build per key however many threads ask. Thread-safe.
 *
 * <p>By default the least recently used value leaves first. A hit is one look-up in a hash table and a note in memory of the thread's own: no lock, no
 * allocation, no atomic operation. Recency is exact for the uses of one thread, and between threads that take turns. Where threads use the cache at the
 * same time and get in each other's way more often than once in 1,024 hits, a use counts as at least as recent as its thread's 1,024th use before
 * it; of several uses in the same moment, any may count as the last. The cost of an eviction does not grow with the number of values, but is not the
 * same for each: now and then one sorts them all. Memory beside key and value is some 60 bytes a value, and 8 more for each thread that uses the cache
 * often. Threads that come seldom, and more than 64 at once, pay an atomic operation for a hit.
 *
 * <p>While a value is being built, its key is not counted in {@link #size()}. A build that fails reaches all callers that
 * waited for it, leaves nothing behind, and the next call builds again. A build may ask this cache, or another, for other keys; a build
 * that needs its own key, directly or through builds of other threads, fails with {@link IllegalStateException} instead of waiting for
 * ever. What cannot be seen is a builder that waits for a thread of its own making: such a thread must not ask for the key that is being
 * built.
 *
 * @param <K> keys, with cheap equality and hash code
 * @param <V> values, shared by all callers
 */
public final class PrimitiveCache<K, V> extends OpenAddressingTable<K, V> {
    /** The capacity where nobody chose one, in entries. */
    public static final int DEFAULT_CAPACITY = 1024;

    private final ValueStore<K, V> kept;
    private final @Nullable LruStore<K, V> lru; // the same, where it is that; its slots are in this table
    private final long[][] notes; // of its stripes: at hand, and not two steps away, on the way of each hit
    private final SingleFlight<K, V> flights;

    /**
     * An empty cache that keeps the most recently used values.
     *
     * @param capacity how many values it keeps; 0 keeps none
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public PrimitiveCache(int capacity) {
        this(capacity, PrimitiveCachePolicy.LRU);
    }

    /**
     * An empty cache.
     *
     * @param capacity how many values it keeps; 0 keeps none
     * @param policy which values leave when it is full
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public PrimitiveCache(int capacity, PrimitiveCachePolicy policy) {
        this.kept = switch (policy) {
            case LRU -> new LruStore<>(this, checked(capacity));
            case W_TINY_LFU -> new TinyLfuStore<>(checked(capacity));
        };
        this.lru = kept instanceof LruStore<K, V> that ? that : null;
        this.notes = lru == null ? new long[0][] : lru.notes();
        this.flights = new SingleFlight<>(kept);
    }

    /** Makes the value of a key that is not present. */
    @FunctionalInterface
    public interface Builder<K, V, E extends Exception> {
        /** The value; not null. */
        V build(K key) throws E;
    }

    /**
     * The value of {@code key}, from the cache, from a build that another thread has under way, or from {@code builder}. An interrupt does not
     * end the wait for another thread's build; the thread's interrupt status is kept.
     *
     * @throws E what the builder threw, in this thread or in the one that built
     * @throws NullPointerException if the builder returned null, in this thread or in the one that built
     * @throws IllegalStateException if building {@code key} turns out to need {@code key} itself
     */
    public <E extends Exception> V get(K key, Builder<? super K, ? extends V, E> builder) throws E {
        CacheSlot<K, V> slot = glance(key);
        if (slot != null) {
            long id = Thread.currentThread().threadId();
            if (!AccessStripe.note(AccessStripe.of(notes, id), id, slot.index)) {
                Objects.requireNonNull(lru, "Only the least recently used are kept in this table").use(slot);
            }
            return slot.value;
        }
        V value = lru != null ? null : kept.find(key);
        return value != null ? value : flights.get(key, builder);
    }

    /** The value of {@code key} if it is present; does not count and does not touch. */
    public @Nullable V peek(K key) {
        return kept.peek(key);
    }

    /** How many values are kept. */
    public int size() {
        return kept.size();
    }

    /** How many values may be kept. */
    public int capacity() {
        return kept.capacity();
    }

    /**
     * Changes the capacity. Lowering it evicts at once, the least recently used values or whichever the policy chooses; 0 clears the cache and
     * disables it.
     *
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public void setCapacity(int capacity) {
        kept.setCapacity(checked(capacity));
    }

    /** How many calls of {@link #get} found a value. */
    public long hits() {
        return kept.hits();
    }

    /** How many calls of {@link #get} did not: they built, or waited for a build. */
    public long misses() {
        return flights.misses();
    }

    /** The number of builds under way; for tests. */
    int underWay() {
        return flights.underWay();
    }

    private static int checked(int capacity) {
        if (capacity < 0) {
            throw new IllegalArgumentException("The capacity of the primitive cache must be 0 or more, not " + capacity);
        }
        return capacity;
    }
}
