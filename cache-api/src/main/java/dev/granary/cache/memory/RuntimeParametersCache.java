package dev.granary.cache.memory;

import dev.granary.cache.build.StackReserve;

import org.jspecify.annotations.Nullable;

import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/**
 * A cache for one stream of values that depend on run-time parameters such as shapes: specialised
 * kernels with their launch data. Not thread-safe, and therefore cheap: each stream has its own.
 *
 * <p>Values are partitioned by the type of the key and the type of the value. Each
 * {@linkplain Partition partition} has its own capacity and its own LRU order. A capacity of 0
 * keeps nothing: every call builds.
 *
 * <p>A key has an equality and a hash code, and contains everything that the value depends on: the
 * builder is a function of the key alone. Parameters that change per call without affecting the
 * build, such as data addresses, are launch arguments and not part of a key. In a key they would
 * make every call a miss, and the value would retain stale data.
 *
 * <p>Each built value leaves exactly once: evicted, flushed by a lower capacity, or by
 * {@link #close()}. Then the partition's listener is called. The default listener closes values
 * that are {@link AutoCloseable}. A value that is not kept leaves when its partition builds the
 * next one. A result of {@link Partition#getOrCreate} is thus valid until the next call of that
 * partition, and longer only while it is kept. Nothing leaves a partition while one of its builders
 * runs, since its value may use the others.
 *
 * <p>A stream may move to another thread if the calls of the first happen before those of the
 * second. Concurrent use is an error. A call that detects it throws
 * {@link ConcurrentModificationException}, on a best-effort basis.
 */
public final class RuntimeParametersCache implements AutoCloseable {
    private int capacity;
    private final Map<Types, Partition<?, ?>> partitions = new HashMap<>();

    /**
     * Creates an empty cache.
     *
     * @param capacity the default capacity of a partition in values; 0 keeps none
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public RuntimeParametersCache(int capacity) {
        this.capacity = requireCapacity(capacity);
    }

    /** The origin of a value. */
    public enum Outcome {
        /** The value was in the cache. */
        HIT,
        /** The value was built. */
        MISS
    }

    /**
     * A value with its origin.
     *
     * @param value the value; null if the builder returned null
     */
    public record Result<V extends @Nullable Object>(V value, Outcome outcome) {}

    /**
     * A builder of the value of an absent key.
     *
     * @param <E> the exception that it may throw
     */
    @FunctionalInterface
    public interface Builder<K, V extends @Nullable Object, E extends Exception> {
        /** Builds the value; null if there is none, which is not kept. */
        @Nullable
        V build(K key) throws E;
    }

    /** The classes of key and value, by which partitions are found. */
    private record Types(Class<?> key, Class<?> value) {}

    /**
     * Returns the value of {@code key} in the partition of its class and {@code valueType}.
     * Frequent callers should use the {@link #partition} directly, which saves its lookup.
     *
     * @throws E if the builder threw it
     * @see Partition#getOrCreate
     */
    public <K, V extends @Nullable Object, E extends Exception> Result<V> getOrCreate(
            K key, Class<? super V> valueType, Builder<? super K, ? extends V, E> builder)
            throws E {
        return this.<K, V>find(new Types(key.getClass(), valueType), capacity)
                .getOrCreate(key, builder);
    }

    /**
     * Returns the partition of these two types. A new one has the cache's capacity and closes
     * values that are {@link AutoCloseable}.
     */
    public <K, V> Partition<K, V> partition(Class<K> keyType, Class<V> valueType) {
        return find(new Types(keyType, valueType), capacity);
    }

    /**
     * Returns the partition of these two types, with its own capacity.
     *
     * @param capacity the new capacity in values; lowering it evicts the least recently used at
     *     once, 0 clears and disables
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public <K, V> Partition<K, V> partition(Class<K> keyType, Class<V> valueType, int capacity) {
        Partition<K, V> found = find(new Types(keyType, valueType), requireCapacity(capacity));
        found.setCapacity(capacity);
        return found;
    }

    /**
     * Returns the partition of these two types, with its own capacity and listener.
     *
     * @param capacity as above
     * @param evictionListener called once for each value that leaves from now on, with its key,
     *     instead of closing it; in the stream's thread after the change, so that it may use the
     *     cache; its exceptions are logged
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public <K, V> Partition<K, V> partition(
            Class<K> keyType,
            Class<V> valueType,
            int capacity,
            BiConsumer<? super K, ? super V> evictionListener) {
        Partition<K, V> found = find(new Types(keyType, valueType), requireCapacity(capacity));
        found.setCapacity(capacity);
        found.evicted.setListener(evictionListener);
        return found;
    }

    /** Returns the capacity of new partitions in values. */
    public int capacity() {
        return capacity;
    }

    /** Removes all values. Nothing is kept from now on, unless a partition gets a new capacity. */
    @Override
    public void close() {
        capacity = 0;
        List.copyOf(partitions.values()).forEach(partition -> partition.setCapacity(0));
    }

    /**
     * Returns the partition of these types. A partition is only used with the types that it was
     * created for.
     */
    @SuppressWarnings("unchecked")
    private <K, V extends @Nullable Object> Partition<K, V> find(Types types, int capacityIfNew) {
        return (Partition<K, V>)
                partitions.computeIfAbsent(types, _ -> new Partition<>(capacityIfNew));
    }

    private static int requireCapacity(int capacity) {
        if (capacity < 0) {
            throw new IllegalArgumentException(
                    "The capacity of a runtime-parameters cache must be 0 or more, not "
                            + capacity);
        }
        return capacity;
    }

    /** The values of one type for keys of one type. Not thread-safe, like its cache. */
    public static final class Partition<K, V extends @Nullable Object>
            extends OpenAddressingTable<K, Result<V>> {
        private static final long BUSY = -1;

        private final Order<K, Result<V>> order = new Order<>(); // of the results of hits
        private final EvictionQueue<K, V> evicted = new EvictionQueue<>();
        private long time; // BUSY while the table is read or changed
        private boolean isInconsistent; // a change began and did not end
        private int capacity;
        private int runningBuilds; // running builders of this partition, nested
        private boolean hasNestedLookup; // the running builder got another value

        private Partition(int capacity) {
            this.capacity = capacity;
        }

        /**
         * Returns the value of {@code key} from the cache or from {@code builder}, with its origin.
         * A built value is kept. Null is returned but not kept, and the next call builds again. If
         * the builder throws, the exception reaches the caller and nothing is kept. A builder may
         * look up other keys; if it looks up its own, the value built first is kept. A hit
         * allocates nothing.
         *
         * @throws E if the builder threw it; the next call builds again
         */
        public <E extends Exception> Result<V> getOrCreate(
                K key, Builder<? super K, ? extends V, E> builder) throws E {
            Result<V> hit = find(key);
            if (hit == null) {
                return create(key, builder);
            }
            if (runningBuilds > 0) {
                hasNestedLookup = true; // the built value may use the hit
            }
            return hit;
        }

        @SuppressWarnings("NullAway") // a null value is a value only if V may be null
        private <E extends Exception> Result<V> create(
                K key, Builder<? super K, ? extends V, E> builder) throws E {
            StackReserve.requireLittle(); // otherwise a built value could be lost
            boolean isOutermost = runningBuilds == 0;
            if (isOutermost) {
                evicted.notifyAllEvicted();
            }
            hasNestedLookup = !isOutermost;
            runningBuilds++;
            V built;
            boolean isCached;
            try {
                built = builder.build(key);
                isCached = built == null || putIfAbsent(key, built);
            } finally {
                runningBuilds--;
            }
            if (isOutermost && !hasNestedLookup) {
                evicted.notifyAllEvicted();
            }
            if (!isCached) {
                // reported later, since the caller uses it
                evicted.add(key, built);
            }
            return new Result<>(built, Outcome.MISS);
        }

        /** Returns the number of cached values. */
        public int size() {
            return order.size();
        }

        /** Returns the capacity in values. */
        public int capacity() {
            return capacity;
        }

        /**
         * Changes the capacity. A lower capacity evicts the least recently used at once; 0 clears
         * and disables the partition.
         *
         * @throws IllegalArgumentException if {@code capacity} is negative
         */
        public void setCapacity(int capacity) {
            requireCapacity(capacity);
            long now = enter();
            try {
                repair();
                this.capacity = capacity;
                isInconsistent = true;
                evictTo(capacity);
                trim();
                isInconsistent = false;
            } finally {
                time = now;
            }
            if (runningBuilds == 0) {
                evicted.notifyAllEvicted();
            }
        }

        private @Nullable Result<V> find(K key) {
            long now = enter();
            try {
                CacheSlot<K, Result<V>> slot = findOnce(key); // no slot moves meanwhile
                if (slot == null) {
                    return null;
                }
                now++;
                order.recordUnshared(slot, now);
                return slot.value;
            } finally {
                time = now;
            }
        }

        /**
         * Caches a value, unless its key is present or the capacity is 0.
         *
         * @return false if the value is not cached
         */
        private boolean putIfAbsent(K key, V value) {
            long now = enter();
            boolean isCached = false;
            try {
                repair();
                // if the builder looked up its own key
                CacheSlot<K, Result<V>> present = slot(key);
                isCached = capacity > 0 && present == null;
                if (isCached) {
                    isInconsistent = true;
                    evictTo(capacity - 1);
                    now++;
                    add(order.add(key, new Result<>(value, Outcome.HIT), now));
                    isInconsistent = false;
                }
                return isCached;
            } catch (Throwable e) { // such as an OutOfMemoryError: the caller never gets the value
                CacheSlot<K, Result<V>> present = slot(key);
                if (present == null || present.value.value() != value) {
                    evicted.notifyListener(key, value);
                }
                throw e;
            } finally {
                time = now;
            }
        }

        /** Repairs the state after an incomplete change. */
        private void repair() {
            if (isInconsistent) {
                order.restore(restore());
                evictTo(capacity);
                isInconsistent = false;
            }
        }

        private void evictTo(int size) {
            while (order.size() > size) {
                CacheSlot<K, Result<V>> oldest = order.removeOldest();
                remove(oldest);
                evicted.add(oldest.key, oldest.value.value());
            }
        }

        /**
         * Enters the partition and returns the time of the last use, which the caller must set
         * again when done.
         */
        private long enter() {
            long now = time;
            if (now == BUSY) {
                throw new ConcurrentModificationException(
                        "Two threads use one runtime-parameters cache, or a key's equality uses"
                                + " it; give each stream its own");
            }
            time = BUSY;
            return now;
        }
    }

    /** An LRU order for one thread. */
    private static final class Order<K, V> extends GenerationalLru<K, V> {
        @Override
        void onRenumber() {}
    }
}
