package dev.granary.cache.memory;

import dev.granary.cache.support.WaitGraph;

import org.jspecify.annotations.Nullable;

import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * A bounded in-memory cache of created values, with a single build per key among concurrent
 * callers. The least recently used value is evicted first. Thread-safe.
 *
 * <p>A hit is one hash table lookup and one atomic addition: no lock, no allocation. The order of
 * uses is exact; of simultaneous uses, any may count as the last. A build in a full cache looks at
 * all values to find the one to evict.
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
public final class PrimitiveCache<K, V> {
    /** The default capacity in entries. */
    public static final int DEFAULT_CAPACITY = 1024;

    // A slot is here from the start of its build until its value leaves.
    private final ConcurrentHashMap<K, Slot<K, V>> slots = new ConcurrentHashMap<>();
    private final AtomicLong clock = new AtomicLong(); // counts uses: hits and added values
    private final LongAdder misses = new LongAdder();
    private final WaitGraph waits = WaitGraph.PROCESS;
    private final EvictionListener listener;
    // A monitor, because the JVM releases it even after a stack overflow.
    private final Object lock = new Object();
    private long added; // values; guarded by lock
    private int valueBound; // the number of values; more only after an error; guarded by lock
    private volatile int capacity; // written under lock

    /**
     * Creates an empty cache.
     *
     * @param capacity the greatest number of values; 0 disables the cache
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public PrimitiveCache(int capacity) {
        this(capacity, EvictionListener.NONE);
    }

    /**
     * Creates an empty cache with a listener of its evictions, which is called once for all values
     * that leave together.
     *
     * @param capacity the greatest number of values; 0 disables the cache
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public PrimitiveCache(int capacity, EvictionListener listener) {
        this.capacity = requireCapacity(capacity, "the primitive cache");
        this.listener = listener;
    }

    /** A builder of the value of an absent key. */
    @FunctionalInterface
    public interface Builder<K, V, E extends Exception> {
        /** Builds the value; not null. */
        V build(K key) throws E;

        /** Called instead of {@link #build} before the wait for the build of another thread. */
        default void join() {}
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
        V value = getIfPresent(key);
        return value == null ? build(key, builder) : value;
    }

    /** Returns the value of {@code key}, or null if it is absent. */
    public @Nullable V getIfPresent(K key) {
        Slot<K, V> slot = slots.get(key);
        V value = slot == null ? null : slot.value;
        if (slot != null && value != null) {
            slot.lastUse = clock.incrementAndGet();
        }
        return value;
    }

    private <E extends Exception> V build(K key, Builder<? super K, ? extends V, E> builder)
            throws E {
        Slot<K, V> own = new Slot<>(key);
        Slot<K, V> other;
        try {
            other = slots.putIfAbsent(key, own);
            while (other != null && other.failure != null) { // could not be removed when it failed
                slots.remove(key, other);
                other = slots.putIfAbsent(key, own);
            }
            if (other == null) {
                misses.increment();
                V built = Objects.requireNonNull(
                        builder.build(key), "The builder of a cached value returned null");
                keep(own, built);
                return built;
            }
        } catch (Throwable e) {
            // Two writes and no call, which might fail as well: the build has ended.
            own.failure = e;
            own.builder = null;
            removeFailed(own);
            throw e;
        }
        if (other.value != null) {
            return get(key, builder);
        }
        misses.increment();
        builder.join();
        return await(other);
    }

    /** Removes a failed build; if an error prevents it, the next build of the key does. */
    private void removeFailed(Slot<K, V> failed) {
        try {
            slots.remove(failed.key, failed);
            failed.wake();
        } catch (Throwable _) {
            // such as another stack overflow: the caller gets the first, and waiters look again
        }
    }

    /** Stores a built value in its slot, unless the capacity is 0, and evicts others for it. */
    private void keep(Slot<K, V> slot, V built) {
        synchronized (lock) {
            if (capacity > 0) {
                evictTo(capacity - 1);
                slot.lastUse = clock.incrementAndGet();
                added++;
                valueBound++;
            } else {
                slots.remove(slot.key, slot);
            }
            slot.value = built;
        }
        slot.builder = null;
        slot.wake();
    }

    /** Evicts the least recently used values until {@code size} are left. Requires the lock. */
    private void evictTo(int size) {
        if (valueBound <= size) {
            return;
        }
        int count = 0;
        Slot<K, V> oldest = null;
        for (Slot<K, V> slot : slots.values()) {
            if (slot.value != null) {
                count++;
                oldest = oldest == null || slot.lastUse < oldest.lastUse ? slot : oldest;
            } else if (slot.failure != null) {
                slots.remove(slot.key, slot);
            }
        }
        valueBound = count;
        if (count > size && oldest != null) {
            EvictionListener.Eviction eviction = listener.begin();
            for (Slot<K, V> slot : count == size + 1 ? List.of(oldest) : oldest(count - size)) {
                slots.remove(slot.key, slot);
                valueBound--;
            }
            eviction.evicted(count - size, 0);
        }
    }

    private List<Slot<K, V>> oldest(int number) {
        return slots.values().stream()
                .filter(slot -> slot.value != null)
                .map(slot -> new Use<>(slot, slot.lastUse))
                .sorted(Comparator.comparingLong(Use::time))
                .limit(number)
                .map(Use::slot)
                .toList();
    }

    /** The last use of a slot before a moment; hits go on while slots are sorted by it. */
    private record Use<K, V>(Slot<K, V> slot, long time) {}

    /** Waits for another thread's build. An interrupt does not end the wait. */
    private V await(Slot<K, V> slot) {
        try {
            waits.enter(slot);
            slot.await();
        } finally {
            waits.leave();
        }
        V value = slot.value;
        if (value == null) {
            throw WaitGraph.<RuntimeException>unchecked(
                    Objects.requireNonNull(slot.failure, "A build ended without a result"));
        }
        return value;
    }

    /** Returns the value of {@code key}, or null if it is absent, without recording a use. */
    public @Nullable V peek(K key) {
        Slot<K, V> slot = slots.get(key);
        return slot == null ? null : slot.value;
    }

    /** Removes the value of {@code key}, if it is cached; a build that is under way goes on. */
    public void remove(K key) {
        synchronized (lock) {
            Slot<K, V> slot = slots.get(key);
            if (slot != null && slot.value != null && slots.remove(key, slot)) {
                valueBound--;
            }
        }
    }

    /** Returns the number of cached values. */
    public int size() {
        synchronized (lock) { // else a value might be counted with the one that it replaces
            return (int)
                    slots.values().stream().filter(slot -> slot.value != null).count();
        }
    }

    /** Returns the capacity in values. */
    public int capacity() {
        return capacity;
    }

    /**
     * Changes the capacity. A lower capacity evicts the least recently used values at once; 0
     * clears and disables the cache.
     *
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public void setCapacity(int capacity) {
        requireCapacity(capacity, "the primitive cache");
        synchronized (lock) {
            this.capacity = capacity;
            evictTo(capacity);
        }
    }

    /** Returns the number of calls of {@link #get} that found a value. */
    public long hits() {
        synchronized (lock) {
            return clock.get() - added;
        }
    }

    /** Returns the number of calls of {@link #get} that built a value or waited for a build. */
    public long misses() {
        return misses.sum();
    }

    /** Returns the number of builds in progress; for tests. */
    int inProgress() {
        return (int)
                slots.values().stream().filter(slot -> slot.builder != null).count();
    }

    static int requireCapacity(int capacity, String cache) {
        if (capacity < 0) {
            throw new IllegalArgumentException(
                    "The capacity of " + cache + " must be 0 or more, not " + capacity);
        }
        return capacity;
    }

    /** A key with its build, and after that with its value or its failure. */
    private static final class Slot<K, V> implements WaitGraph.Build {
        private static final long RECHECK_MILLIS = 250;

        final K key;
        volatile @Nullable Thread builder = Thread.currentThread();
        volatile @Nullable V value;
        volatile @Nullable Throwable failure;
        long lastUse; // not volatile: a hit is one atomic operation, the clock's

        Slot(K key) {
            this.key = key;
        }

        @Override
        public @Nullable Thread builder() {
            return builder;
        }

        /**
         * Waits until there is a value or a failure. Looks by itself from time to time, since an
         * exhausted stack may prevent the builder from waking anyone.
         */
        synchronized void await() {
            boolean wasInterrupted = false;
            while (value == null && failure == null) {
                try {
                    wait(RECHECK_MILLIS);
                } catch (InterruptedException e) {
                    wasInterrupted = true;
                }
            }
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }

        synchronized void wake() {
            notifyAll();
        }
    }
}
