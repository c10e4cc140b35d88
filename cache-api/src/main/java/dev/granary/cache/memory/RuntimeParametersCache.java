package dev.granary.cache.memory;
import dev.granary.cache.build.StackReserve;

import java.util.ArrayDeque;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
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
 * <p>Each value that was built leaves once: evicted, flushed by a lower capacity, or with {@link #close()}. Then the listener of its partition is
 * told; unless another one was given, it closes a value that is {@link AutoCloseable}. A value that is not kept leaves when its partition builds
 * the next time. So what {@link Partition#getOrCreate} returned is valid until the next call of that partition, and longer only while it is kept.
 * While a builder runs nothing of its partition leaves: what it asked for may be part of what it builds.
 *
 * <p>A stream may move from one thread to another, where the first one's calls happen before the second one's. Two threads at the same time are a
 * mistake; where a call notices, it throws {@link ConcurrentModificationException}, but none is sure to notice.
 */
public final class RuntimeParametersCache implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("dev.granary");

    private int capacity;
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

    /** The partition of these two types; where it is new, with the cache's capacity, and values that are {@link AutoCloseable} are closed. */
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

    /**
     * The partition of these two types, with a capacity and a listener of its own.
     *
     * @param capacity as above
     * @param whenLeft is told of each value that leaves from now on, once, with the key that it was built for, instead of its being closed; in the
     *     stream's thread, after the change, so that it may use the cache; what it throws is logged
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public <K, V> Partition<K, V> partition(
            Class<K> keyType, Class<V> valueType, int capacity, BiConsumer<? super K, ? super V> whenLeft) {
        Partition<K, V> found = find(new Types(keyType, valueType), checked(capacity));
        found.setCapacity(capacity);
        found.whenLeft = whenLeft;
        return found;
    }

    /** Lets all values leave. Nothing is kept from now on, unless a partition is given a capacity again. */
    @Override
    public void close() {
        capacity = 0;
        List.copyOf(partitions.values()).forEach(partition -> partition.setCapacity(0));
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
    public static final class Partition<K, V extends @Nullable Object> extends OpenAddressingTable<K, Result<V>> {
        private static final long BUSY = -1;

        private final Order<K, Result<V>> order = new Order<>(); // of what hits return
        private final ArrayDeque<Left<K, V>> left = new ArrayDeque<>(); // and not told yet
        private BiConsumer<? super K, ? super V> whenLeft = (_, value) -> closeIfCloseable(value);
        private long time; // BUSY while the table is read or changed
        private boolean isTorn; // a change has begun and did not end
        private int capacity;
        private int building; // how many builders of this partition are running, one inside the other
        private boolean hasNested; // while one runs: it has asked for what others built

        private record Left<K, V>(K key, V value) {}

        private Partition(int capacity) {
            this.capacity = capacity;
        }

        /**
         * The value of {@code key} and where it came from: the cache, or {@code builder}, whose value is kept. Null is the empty value:
         * it is returned, but not kept, and the next call builds again. What the builder throws reaches the caller, and nothing is kept. A builder may ask
         * for other keys. If it asks for its own, what is kept is the value that was built first. A hit allocates nothing.
         */
        public Result<V> getOrCreate(K key, Function<? super K, ? extends V> builder) {
            Result<V> hit = find(key);
            return hit != null ? hit : create(key, builder);
        }

        private Result<V> create(K key, Function<? super K, ? extends V> builder) {
            StackReserve.requireLittle(); // else a built value could be lost halfway
            boolean isOutermost = building == 0;
            if (isOutermost) {
                tellAll();
            }
            hasNested = !isOutermost;
            building++;
            V built;
            boolean isKept;
            try {
                built = builder.apply(key);
                isKept = built == null || keep(key, built);
            } finally {
                building--;
            }
            if (isOutermost && !hasNested) {
                tellAll();
            }
            if (!isKept) {
                left.add(new Left<>(key, built)); // told when the next one is built: the caller uses it
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
            try {
                mend();
                this.capacity = capacity;
                isTorn = true;
                evictTo(capacity);
                trim();
                isTorn = false;
            } finally {
                time = now;
            }
            if (building == 0) {
                tellAll();
            }
        }

        private @Nullable Result<V> find(K key) {
            long now = enter();
            try {
                CacheSlot<K, Result<V>> slot = glance(key); // none moves meanwhile
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

        /** Keeps a value, if there is none of that key, and the capacity is not 0; false where it is not kept. */
        private boolean keep(K key, V value) {
            long now = enter();
            boolean isKept = false;
            try {
                mend();
                CacheSlot<K, Result<V>> present = slot(key); // where the builder has asked for the key itself
                isKept = capacity > 0 && present == null;
                if (isKept) {
                    isTorn = true;
                    evictTo(capacity - 1);
                    now++;
                    add(order.add(key, new Result<>(value, Outcome.HIT), now));
                    isTorn = false;
                }
                return isKept;
            } catch (Throwable e) { // such as memory that is used up: the caller never gets the value
                CacheSlot<K, Result<V>> present = slot(key);
                if (present == null || present.value.value() != value) {
                    tell(key, value);
                }
                throw e;
            } finally {
                time = now;
            }
        }

        /** Makes whole what an error has left halfway. */
        private void mend() {
            if (isTorn) {
                order.restore(restore());
                evictTo(capacity);
                isTorn = false;
            }
        }

        private void evictTo(int size) {
            while (order.size() > size) {
                CacheSlot<K, Result<V>> oldest = order.removeOldest();
                remove(oldest);
                left.add(new Left<>(oldest.key, oldest.value.value()));
            }
        }

        /** Tells of all that have left. Outside of the table's use: it runs what others wrote. */
        private void tellAll() {
            for (Left<K, V> one = left.poll(); one != null; one = left.poll()) {
                tell(one.key, one.value);
            }
        }

        /** What fails here is not the fault of whoever happens to run it. */
        private void tell(K key, V value) {
            try {
                whenLeft.accept(key, value);
            } catch (Throwable e) {
                LOG.log(System.Logger.Level.WARNING, "The listener of a runtime-parameters cache failed", e);
            }
        }

        private static void closeIfCloseable(@Nullable Object value) {
            if (value instanceof AutoCloseable closeable) {
                try {
                    closeable.close();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                } catch (Exception e) {
                    LOG.log(System.Logger.Level.WARNING, "A value of a runtime-parameters cache could not be closed", e);
                }
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
    private static final class Order<K, V> extends GenerationalLru<K, V> {
        @Override
        void renumbered() {}
    }
}
