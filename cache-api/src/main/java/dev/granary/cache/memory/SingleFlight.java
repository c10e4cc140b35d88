package dev.granary.cache.memory;
import dev.granary.cache.build.BuildCycleDetector;

import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * One build per key however many threads ask for what is not kept. A key is in the map while it is built, and leaves it only when its value
 * is kept: so who finds it in neither place, and enters it here, looks once more at what is kept before it builds.
 *
 * <p>Whatever a build throws, and wherever, its flight ends: that takes two writes and no call, so that no used-up stack and no used-up
 * memory prevents it. Only taking an ended flight out of the map may fail then; the next call that misses makes up for it.
 */
final class SingleFlight<K, V> {
    private final ConcurrentHashMap<K, InFlightBuild<V>> flights = new ConcurrentHashMap<>();
    private final LongAdder misses = new LongAdder();
    private final ValueStore<K, V> kept;
    private volatile boolean isTorn; // an ended flight may be in the map

    SingleFlight(ValueStore<K, V> kept) {
        this.kept = kept;
    }

    /** How many calls of {@link #get} built, or waited for a build. */
    long misses() {
        return misses.sum();
    }

    /** The number of keys in the map: those that are being built, when no call has been cut short. */
    int underWay() {
        int count = 0;
        for (InFlightBuild<V> _ : flights.values()) { // not its size, whose count misses what an error cut short
            count++;
        }
        return count;
    }

    <E extends Exception> V get(K key, PrimitiveCache.Builder<? super K, ? extends V, E> builder) throws E {
        InFlightBuild<V> mine = new InFlightBuild<>(Thread.currentThread());
        InFlightBuild<V> another = null;
        V value = null;
        try {
            another = enter(key, mine);
            if (another == null) {
                value = findOrBuild(key, builder);
                flights.remove(key, mine);
                mine.complete(value);
                return value;
            }
        } catch (Throwable failure) {
            if (value == null) { // no call here: it might fail as well
                mine.failure = failure;
            } else {
                mine.value = value;
            }
            mine.builder = null;
            try {
                flights.remove(key, mine);
                mine.wake();
            } catch (Throwable again) { // of the same kind; the first one is the caller's
                isTorn = true;
            }
            throw failure;
        }
        misses.increment();
        return await(another);
    }

    /** Enters a flight for {@code key}, unless there is one under way, which is returned. */
    private @Nullable InFlightBuild<V> enter(K key, InFlightBuild<V> mine) {
        if (isTorn) {
            isTorn = false;
            flights.values().removeIf(InFlightBuild::isEnded);
        }
        while (true) {
            InFlightBuild<V> another = flights.putIfAbsent(key, mine);
            if (another == null || !another.isEnded()) {
                return another;
            }
            flights.remove(key, another);
        }
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

    /**
     * Waits for another thread's build. An interrupt does not end the wait, which is bounded by the build; the thread's interrupt status is
     * kept.
     */
    private static <V> V await(InFlightBuild<V> flight) {
        try {
            BuildCycleDetector.PROCESS.enter(flight);
            awaitUninterruptibly(flight);
        } finally {
            BuildCycleDetector.PROCESS.leave();
        }
        V value = flight.value;
        if (value != null) {
            return value;
        }
        Throwable failure = flight.failure;
        throw SingleFlight.<RuntimeException>unchecked(failure == null ? new IllegalStateException("A build ended without a result") : failure);
    }

    private static void awaitUninterruptibly(InFlightBuild<?> flight) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    flight.await();
                    return;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** The builder's failure as it is: callers of one key share one kind of builder, so its checked type is theirs. */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <T extends Throwable> T unchecked(Throwable failure) throws T {
        throw (T) failure;
    }
}
