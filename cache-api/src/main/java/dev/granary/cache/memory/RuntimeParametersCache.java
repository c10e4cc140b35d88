package dev.granary.cache.memory;

import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The cache of one stream for what depends on parameters that are known at run time only, such as shapes: kernels that are specialised by them,
 * with what was computed for their launch. Not thread-safe, and cheap because of that: each stream has one of its own.
 *
 * <p>What is cached is divided by the type of its key and the type of the value. Each such {@linkplain Partition partition} has its own capacity and
 * its own order; the least recently used leave first. A capacity of 0 keeps nothing: every call builds.
 *
 * <p>A key has a hash code and an equality, and says all that the value depends on: the builder is a function of the key alone. What
 * changes from call to call without changing what is built, such as the addresses of data, is no part of a key; it travels as an argument of
 * the launch. A record of such a parameter would make every call a miss, and the value would hold on to data that is gone.
 *
 * <p>A stream may move from one thread to another, where the first one's calls happen before the second one's. Two threads at the same time are a
 * mistake; where a call notices, it throws {@link ConcurrentModificationException}, but none is sure to notice.
 */
public final class RuntimeParametersCache {
    private final int capacity;
    private final Map<Types, Partition<?, ?>> partitions = new HashMap<>();

    /**
     * An empty cache.
     *
     * @param capacity how many values each partition keeps that asks for no other; 0 keeps none
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public RuntimeParametersCache(int capacity) {
        this.capacity = checked(capacity);
    }

    /** Where a value came from. */
    public enum Outcome {
        /** It was in the cache. */
        HIT,
        /** It was built. */
        MISS
    }

    /**
     * A value, and where it came from.
     *
     * @param value the value; null where the builder returned null
     */
    public record Result<V extends @Nullable Object>(V value, Outcome outcome) {}

    private record Types(Class<?> key, Class<?> value) {}

    /**
     * The value of {@code key}, in the partition of its class and of {@code valueType}. Who asks often asks the {@link #partition} itself and
     * saves looking for it.
     *
     * @see Partition#getOrCreate
     */
    public <K, V extends @Nullable Object> Result<V> getOrCreate(K key, Class<? super V> valueType, Function<? super K, ? extends V> builder) {
        return this.<K, V>find(new Types(key.getClass(), valueType), capacity).getOrCreate(key, builder);
    }

    /** The partition of these two types, with the cache's capacity if it is new. */
    public <K, V> Partition<K, V> partition(Class<K> keyType, Class<V> valueType) {
        return find(new Types(keyType, valueType), capacity);
    }

    /**
     * The partition of these two types, with a capacity of its own.
     *
     * @param capacity how many values it keeps from now on; lowering evicts the least recently used at once, 0 clears and disables
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public <K, V> Partition<K, V> partition(Class<K> keyType, Class<V> valueType, int capacity) {
        Partition<K, V> found = find(new Types(keyType, valueType), checked(capacity));
        found.setCapacity(capacity);
        return found;
    }

    /** Keys of one type are only ever asked for values of one type here. */
    @SuppressWarnings("unchecked")
    private <K, V extends @Nullable Object> Partition<K, V> find(Types types, int capacityIfNew) {
        return (Partition<K, V>) partitions.computeIfAbsent(types, _ -> new Partition<>(capacityIfNew));
    }

    private static int checked(int capacity) {
        if (capacity < 0) {
            throw new IllegalArgumentException("The capacity of a runtime-parameters cache must be 0 or more, not " + capacity);
        }
        return capacity;
    }

    /** The values of one type for keys of one type. Not thread-safe, like its cache. */
    public static final class Partition<K, V extends @Nullable Object> extends SlotTable<K, Result<V>> {
        private static final long BUSY = -1;

        private final Order<K, Result<V>> order = new Order<>(); // of what hits return
        private long time; // BUSY while the table is read or changed
        private int capacity;

        private Partition(int capacity) {
            this.capacity = capacity;
        }

        /**
         * The value of {@code key} and where it came from: the cache, or {@code builder}, whose value is kept. Null is the empty value:
         * it is returned, but not kept, and the next call builds again. What the builder throws reaches the caller, and nothing is kept. A builder may ask
         * for other keys. A hit allocates nothing.
         */
        public Result<V> getOrCreate(K key, Function<? super K, ? extends V> builder) {
            Result<V> hit = find(key);
            if (hit != null) {
                return hit;
            }
            V built = builder.apply(key);
            if (built != null) {
                keep(key, built);
            }
            return new Result<>(built, Outcome.MISS);
        }

        /** How many values are kept. */
        public int size() {
            return order.size();
        }

        /** How many values may be kept. */
        public int capacity() {
            return capacity;
        }

        private void setCapacity(int capacity) {
            long now = enter();
            this.capacity = capacity;
            evictTo(capacity);
            trim();
            time = now;
        }

        private @Nullable Result<V> find(K key) {
            long now = enter();
            try {
                Slot<K, Result<V>> slot = glance(key); // none moves meanwhile
                if (slot == null) {
                    return null;
                }
                now++;
                order.noteAlone(slot, now);
                return slot.value;
            } finally {
                time = now;
            }
        }

        private void keep(K key, V value) {
            long now = enter();
            try {
                Slot<K, Result<V>> present = slot(key); // where the builder has asked for the key itself
                if (capacity > 0 && present == null) {
                    evictTo(capacity - 1);
                    now++;
                    add(order.add(key, new Result<>(value, Outcome.HIT), now));
                }
            } finally {
                time = now;
            }
        }

        private void evictTo(int size) {
            while (order.size() > size) {
                remove(order.removeOldest());
            }
        }

        /** The time of the last use. The caller sets it again when it is done. */
        private long enter() {
            long now = time;
            if (now == BUSY) {
                throw new ConcurrentModificationException(
                        "Two threads use one runtime-parameters cache, or a key's equality uses it; give each stream its own");
            }
            time = BUSY;
            return now;
        }
    }

    /** The order of values that one thread uses. */
    private static final class Order<K, V> extends Generations<K, V> {
        @Override
        void renumbered() {}
    }
}
