package dev.granary.cache.memory;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;

import dev.granary.cache.EvictionListener;
import dev.granary.cache.build.StackReserve;

import org.jspecify.annotations.Nullable;

/** A store that evicts by Caffeine's W-TinyLFU policy. */
final class TinyLfuStore<K, V> implements ValueStore<K, V> {
    private final Cache<K, V> cache;
    // cheaper counters than Caffeine's
    private final AccessStripes stripes = new AccessStripes();
    private volatile int capacity;

    TinyLfuStore(int capacity, EvictionListener listener) {
        this.capacity = capacity;
        this.cache = Caffeine.newBuilder()
                .maximumSize(capacity)
                .executor(Runnable::run)
                .evictionListener((_, _, _) -> listener.begin().evicted(1, 0))
                .build();
    }

    @Override
    public @Nullable V find(K key) {
        V value = cache.getIfPresent(key);
        if (value != null) {
            stripes.countHit();
        }
        return value;
    }

    @Override
    public @Nullable V peek(K key) {
        return cache.policy().getIfPresentQuietly(key);
    }

    @Override
    public void put(K key, V value) {
        if (capacity > 0) {
            StackReserve.require(); // an error must not interrupt Caffeine
            cache.put(key, value);
        }
    }

    @Override
    public int size() {
        cache.cleanUp(); // completes pending evictions before counting
        return (int) cache.estimatedSize();
    }

    @Override
    public int capacity() {
        return capacity;
    }

    @Override
    public void setCapacity(int capacity) {
        this.capacity = capacity;
        cache.policy().eviction().orElseThrow().setMaximum(capacity);
        cache.cleanUp();
    }

    @Override
    public long hits() {
        return stripes.hits();
    }
}
