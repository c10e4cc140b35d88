package dev.granary.cache.memory;

import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.function.BiConsumer;

/**
 * Queue of the values that have left a partition of a {@link RuntimeParametersCache}, until its
 * listener is notified. Not thread-safe.
 */
final class EvictionQueue<K, V extends @Nullable Object> {
    private static final System.Logger LOG = System.getLogger("dev.granary");

    private final ArrayDeque<Evicted<K, V>> evicted = new ArrayDeque<>();
    private BiConsumer<? super K, ? super V> listener = (_, value) -> closeIfCloseable(value);

    /** A key and its evicted value. */
    private record Evicted<K, V>(K key, V value) {}

    /** Sets the listener, which replaces the default one: it closes the values. */
    void setListener(BiConsumer<? super K, ? super V> replacement) {
        listener = replacement;
    }

    void add(K key, V value) {
        evicted.add(new Evicted<>(key, value));
    }

    /**
     * Notifies the listener of all values that have left. Must be called outside of a change,
     * because it runs users' code.
     */
    void notifyAllEvicted() {
        for (Evicted<K, V> one = evicted.poll(); one != null; one = evicted.poll()) {
            notifyListener(one.key, one.value);
        }
    }

    /** Calls the listener and logs its failure, which does not concern the caller. */
    void notifyListener(K key, V value) {
        try {
            listener.accept(key, value);
        } catch (Throwable e) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "The listener of a runtime-parameters cache failed",
                    e);
        }
    }

    private static void closeIfCloseable(@Nullable Object value) {
        if (value instanceof AutoCloseable closeable) {
            try {
                closeable.close();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (Exception e) {
                LOG.log(
                        System.Logger.Level.WARNING,
                        "A value of a runtime-parameters cache could not be closed",
                        e);
            }
        }
    }
}
