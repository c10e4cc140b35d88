package dev.granary.cache.memory;

import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.LinkedHashMap;
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
    private static final System.Logger LOG = System.getLogger("dev.granary");

    private int capacity;
    // by the classes of key and value
    private final Map<List<Class<?>>, Partition<?, ?>> partitions = new HashMap<>();

    /**
     * Creates an empty cache.
     *
     * @param capacity the default capacity of a partition in values; 0 keeps none
     * @throws IllegalArgumentException if {@code capacity} is negative
     */
    public RuntimeParametersCache(int capacity) {
        this.capacity = PrimitiveCache.requireCapacity(capacity, "a runtime-parameters cache");
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

    /**
     * Returns the partition of these two types. A new one has the cache's capacity and closes
     * values that are {@link AutoCloseable}.
     */
    @SuppressWarnings("unchecked") // a partition is only used with the types it was created for
    public <K, V> Partition<K, V> partition(Class<K> keyType, Class<V> valueType) {
        return (Partition<K, V>) partitions.computeIfAbsent(
                List.of(keyType, valueType), _ -> new Partition<>(capacity));
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

    /** The values of one type for keys of one type. Not thread-safe, like its cache. */
    public static final class Partition<K, V extends @Nullable Object> {
        // in the order of uses; holds the results of hits, so that a hit allocates nothing
        private final LinkedHashMap<K, Result<V>> values = new LinkedHashMap<>(16, 0.75f, true);
        private final ArrayDeque<Evicted<K, V>> evicted = new ArrayDeque<>();
        // null: values are closed
        private @Nullable BiConsumer<? super K, ? super V> listener;
        private int capacity;
        private boolean isBusy; // the map is read or changed
        private int runningBuilds; // running builders of this partition, nested
        private boolean hasNestedLookup; // the running builder got another value

        private Partition(int capacity) {
            this.capacity = capacity;
        }

        /** A value that has left, until it is reported. */
        private record Evicted<K, V>(K key, V value) {}

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
            Result<V> hit;
            enter();
            try {
                hit = values.get(key);
            } finally {
                isBusy = false;
            }
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
            boolean isOutermost = runningBuilds == 0;
            if (isOutermost) {
                report();
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
                report();
            }
            if (!isCached) {
                evicted.add(new Evicted<>(key, built)); // reported later: the caller uses it
            }
            return new Result<>(built, Outcome.MISS);
        }

        /**
         * Caches a value, unless its key is present or the capacity is 0.
         *
         * @return false if the value is not cached
         */
        private boolean putIfAbsent(K key, V value) {
            enter();
            try {
                // present if the builder looked up its own key
                if (capacity == 0 || values.containsKey(key)) {
                    return false;
                }
                evictTo(capacity - 1);
                values.put(key, new Result<>(value, Outcome.HIT));
                return true;
            } catch (Throwable e) { // of the key, or no memory: the caller never gets the value
                values.values().removeIf(kept -> kept.value() == value);
                evicted.add(new Evicted<>(key, value));
                throw e;
            } finally {
                isBusy = false;
            }
        }

        /** Returns the number of cached values. */
        public int size() {
            return values.size();
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
            PrimitiveCache.requireCapacity(capacity, "a runtime-parameters cache");
            enter();
            try {
                this.capacity = capacity;
                evictTo(capacity);
            } finally {
                isBusy = false;
            }
            if (runningBuilds == 0) {
                report();
            }
        }

        /**
         * Sets a listener, which is called once for each value that leaves from now on, with its
         * key, instead of closing it. It runs in the stream's thread after the change, so that it
         * may use the cache; its exceptions are logged.
         */
        public void onEviction(BiConsumer<? super K, ? super V> evictionListener) {
            listener = evictionListener;
        }

        private void evictTo(int size) {
            while (values.size() > size) {
                Map.Entry<K, Result<V>> oldest = values.pollFirstEntry();
                evicted.add(new Evicted<>(oldest.getKey(), oldest.getValue().value()));
            }
        }

        private void enter() {
            if (isBusy) {
                throw new ConcurrentModificationException(
                        "Two threads use one runtime-parameters cache, or a key's equality uses"
                                + " it; give each stream its own");
            }
            isBusy = true;
        }

        /**
         * Reports all values that have left, and logs failures, which do not concern the caller.
         * Must be called outside of a change, because it runs users' code.
         */
        private void report() {
            for (Evicted<K, V> one = evicted.poll(); one != null; one = evicted.poll()) {
                try {
                    if (listener != null) {
                        listener.accept(one.key, one.value);
                    } else if (one.value instanceof AutoCloseable closeable) {
                        closeable.close();
                    }
                } catch (Throwable e) {
                    if (e instanceof InterruptedException) {
                        Thread.currentThread().interrupt();
                    }
                    LOG.log(
                            System.Logger.Level.WARNING,
                            "A value that left a runtime-parameters cache could not be closed, or"
                                    + " its listener failed",
                            e);
                }
            }
        }
    }
}
