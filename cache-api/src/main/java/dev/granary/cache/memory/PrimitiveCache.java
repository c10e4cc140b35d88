package dev.granary.cache.memory;

import dev.granary.cache.EvictionListener;

import org.jspecify.annotations.Nullable;

import java.util.Objects;

/**
 * A bounded in-memory cache of created values, with a single build per key among concurrent
 * callers. Thread-safe.
 *
 * <p>By default the least recently used value is evicted first. A hit is one hash table lookup and
 * a write to thread-local memory: no lock, no allocation, no atomic operation. LRU order is exact
 * for the uses of one thread, and between threads that alternate at most once in 1,024 hits. Beyond
 * that, the order may lag by up to 1,024 hits per thread; of simultaneous uses, any may count as
 * the last.
 *
 * <p>The cost of an eviction does not grow with the number of values, but varies: occasionally one
 * sorts them all. Memory beside key and value is about 60 bytes per value, and 8 more for each
 * thread that uses the cache often. Threads that use it rarely, or beyond the 64th at once, pay an
 * atomic operation per hit.
 *
 * <p>The key of a value being built is not counted in {@link #size()}. A failed build reaches all
 * callers that waited for it and leaves no trace; the next call builds again. A build may look up
 * other keys in this or another cache. If a build needs its own key, directly or through builds of
 * other threads, it fails with {@link IllegalStateException} instead of a deadlock. A builder that
 * waits for a thread it started is not detected: such a thread must not look up the key being
 * built.
 *
 * @param <K> keys, with cheap equality and hash code
 * @param <V> values, shared by all callers
 */
public final class PrimitiveCache<K, V> extends OpenAddressingTable<K, V> {
    /** The default capacity in entries. */
    public static final int DEFAULT_CAPACITY = 1024;

    private final ValueStore<K, V> store;
    private final @Nullable LruStore<K, V> lru; // the store if it is LRU; this is its table
    // of the LRU store's stripes, here to save indirections per hit
    private final long[][] cells;
    private final SingleFlight<K, V> singleFlight;

    /**
     * Creates an empty cache that keeps the most recently used values.
     *
     * @param capacity the greatest number of values; 0 disables the cache
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public PrimitiveCache(int capacity) {
        this(capacity, PrimitiveCachePolicy.LRU);
    }

    /**
     * Creates an empty cache.
     *
     * @param capacity the greatest number of values; 0 disables the cache
     * @param policy the eviction policy
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public PrimitiveCache(int capacity, PrimitiveCachePolicy policy) {
        this(capacity, policy, EvictionListener.NONE);
    }

    /**
     * Creates an empty cache with a listener of its evictions. By {@link PrimitiveCachePolicy#LRU}
     * it is called once for all values that leave together, otherwise once for each.
     *
     * @param capacity the greatest number of values; 0 disables the cache
     * @param policy the eviction policy
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public PrimitiveCache(int capacity, PrimitiveCachePolicy policy, EvictionListener listener) {
        this.store = switch (policy) {
            case LRU -> new LruStore<>(this, requireCapacity(capacity), listener);
            case W_TINY_LFU -> new TinyLfuStore<>(requireCapacity(capacity), listener);
        };
        this.lru = store instanceof LruStore<K, V> that ? that : null;
        this.cells = lru == null ? new long[0][] : lru.cells();
        this.singleFlight = new SingleFlight<>(store);
    }

    /** A builder of the value of an absent key. */
    @FunctionalInterface
    public interface Builder<K, V, E extends Exception> {
        /** Builds the value; not null. */
        V build(K key) throws E;
    }

    /**
     * Returns the value of {@code key} from the cache, from a build in progress by another thread,
     * or from {@code builder}. An interrupt does not end the wait for another thread's build; the
     * thread keeps its interrupt status.
     *
     * @throws E if the builder threw it, in this thread or in the one that built
     * @throws NullPointerException if the builder returned null, in this thread or in the one that
     *     built
     * @throws IllegalStateException if building {@code key} needs {@code key} itself
     */
    public <E extends Exception> V get(K key, Builder<? super K, ? extends V, E> builder) throws E {
        CacheSlot<K, V> slot = findOnce(key);
        if (slot != null) {
            long id = Thread.currentThread().threadId();
            if (!AccessStripe.record(AccessStripe.cellsOf(cells, id), id, slot.index)) {
                Objects.requireNonNull(lru, "Only the LRU store uses this table")
                        .recordUse(slot);
            }
            return slot.value;
        }
        V value = lru != null ? null : store.find(key);
        return value != null ? value : singleFlight.get(key, builder);
    }

    /**
     * Returns the value of {@code key}, or null if it is absent, without counting or recording a
     * use.
     */
    public @Nullable V peek(K key) {
        return store.peek(key);
    }

    /** Returns the number of cached values. */
    public int size() {
        return store.size();
    }

    /** Returns the capacity in values. */
    public int capacity() {
        return store.capacity();
    }

    /**
     * Changes the capacity. A lower capacity evicts values at once, by the policy; 0 clears and
     * disables the cache.
     *
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public void setCapacity(int capacity) {
        store.setCapacity(requireCapacity(capacity));
    }

    /** Returns the number of calls of {@link #get} that found a value. */
    public long hits() {
        return store.hits();
    }

    /** Returns the number of calls of {@link #get} that built a value or waited for a build. */
    public long misses() {
        return singleFlight.misses();
    }

    /** Returns the number of builds in progress; for tests. */
    int inProgress() {
        return singleFlight.inProgress();
    }

    private static int requireCapacity(int capacity) {
        if (capacity < 0) {
            throw new IllegalArgumentException(
                    "The capacity of the primitive cache must be 0 or more, not " + capacity);
        }
        return capacity;
    }
}
