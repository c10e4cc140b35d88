package dev.granary.cache.memory;

import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * One build per key however many threads ask for what is not kept. A key is in the map while it is built, and leaves it only when its value
 * is kept: so who finds it in neither place, and enters it here, looks once more at what is kept before it builds.
 */
final class SingleFlight<K, V> {
    private final ConcurrentHashMap<K, Flight<V>> flights = new ConcurrentHashMap<>();
    private final LongAdder misses = new LongAdder();
    private final Kept<K, V> kept;

    SingleFlight(Kept<K, V> kept) {
        this.kept = kept;
    }

    /** How many calls of {@link #get} built, or waited for a build. */
    long misses() {
        return misses.sum();
    }

    <E extends Exception> V get(K key, PrimitiveCache.Builder<? super K, ? extends V, E> builder) throws E {
        Flight<V> mine = new Flight<>(Thread.currentThread());
        Flight<V> another = flights.putIfAbsent(key, mine);
        if (another != null) {
            misses.increment();
            return BuildGraph.PROCESS.await(another);
        }
        V value;
        try {
            value = findOrBuild(key, builder);
        } catch (Throwable failure) {
            flights.remove(key, mine);
            mine.fail(failure);
            throw failure;
        }
        flights.remove(key, mine);
        mine.complete(value);
        return value;
    }

    private <E extends Exception> V findOrBuild(K key, PrimitiveCache.Builder<? super K, ? extends V, E> builder) throws E {
        V found = kept.find(key);
        if (found != null) {
            return found;
        }
        misses.increment();
        V built = Objects.requireNonNull(builder.build(key), "The builder of a cached value returned null");
        kept.keep(key, built);
        return built;
    }
}
