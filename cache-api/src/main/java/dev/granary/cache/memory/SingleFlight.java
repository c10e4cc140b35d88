package dev.granary.cache.memory;

import dev.granary.cache.build.BuildCycleDetector;

import org.jspecify.annotations.Nullable;

import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Coordination of concurrent misses: one build per key. A key is in the map while it is built, and
 * leaves it only after its value is stored. A caller that finds a key in neither place and enters
 * it here therefore checks the store again before it builds.
 *
 * <p>Every build ends, whatever it throws: this takes two writes and no call, so that neither an
 * exhausted stack nor exhausted memory prevents it. Only the removal of the ended build from the
 * map may fail then; the next miss repeats it.
 */
final class SingleFlight<K, V> {
    private final ConcurrentHashMap<K, InFlightBuild<V>> builds = new ConcurrentHashMap<>();
    private final LongAdder misses = new LongAdder();
    private final ValueStore<K, V> store;
    private volatile boolean hasEndedBuild; // an ended build may be in the map

    SingleFlight(ValueStore<K, V> store) {
        this.store = store;
    }

    /** Returns the number of calls of {@link #get} that built a value or waited for a build. */
    long misses() {
        return misses.sum();
    }

    /**
     * Returns the number of builds in the map. If no call was aborted by an error, those are the
     * builds in progress.
     */
    int inProgress() {
        int count = 0;
        for (InFlightBuild<V> _ : builds.values()) { // not size(), which an error may falsify
            count++;
        }
        return count;
    }

    <E extends Exception> V get(K key, PrimitiveCache.Builder<? super K, ? extends V, E> builder)
            throws E {
        InFlightBuild<V> own = new InFlightBuild<>(Thread.currentThread());
        InFlightBuild<V> other = null;
        V value = null;
        try {
            other = enter(key, own);
            if (other == null) {
                value = findOrBuild(key, builder);
                builds.remove(key, own);
                own.complete(value);
                return value;
            }
        } catch (Throwable failure) {
            if (value == null) { // no calls here: they might fail too
                own.failure = failure;
            } else {
                own.value = value;
            }
            own.builder = null;
            try {
                builds.remove(key, own);
                own.wake();
            } catch (Throwable second) { // of the same kind; the caller gets the first
                hasEndedBuild = true;
            }
            throw failure;
        }
        misses.increment();
        return await(other);
    }

    /**
     * Enters a build for {@code key}.
     *
     * @return the build already in progress, or null if {@code own} was entered
     */
    private @Nullable InFlightBuild<V> enter(K key, InFlightBuild<V> own) {
        if (hasEndedBuild) {
            hasEndedBuild = false;
            builds.values().removeIf(InFlightBuild::isEnded);
        }
        while (true) {
            InFlightBuild<V> other = builds.putIfAbsent(key, own);
            if (other == null || !other.isEnded()) {
                return other;
            }
            builds.remove(key, other);
        }
    }

    private <E extends Exception> V findOrBuild(
            K key, PrimitiveCache.Builder<? super K, ? extends V, E> builder) throws E {
        V found = store.find(key);
        if (found != null) {
            return found;
        }
        misses.increment();
        V built = Objects.requireNonNull(
                builder.build(key), "The builder of a cached value returned null");
        store.put(key, built);
        return built;
    }

    /**
     * Waits for another thread's build. An interrupt does not end the wait, which is bounded by the
     * build; the thread keeps its interrupt status.
     */
    private static <V> V await(InFlightBuild<V> build) {
        try {
            BuildCycleDetector.PROCESS.enter(build);
            awaitUninterruptibly(build);
        } finally {
            BuildCycleDetector.PROCESS.leave();
        }
        V value = build.value;
        if (value != null) {
            return value;
        }
        Throwable failure = build.failure;
        throw SingleFlight.<RuntimeException>unchecked(
                failure == null
                        ? new IllegalStateException("A build ended without a result")
                        : failure);
    }

    private static void awaitUninterruptibly(InFlightBuild<?> build) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    build.await();
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

    /**
     * Rethrows the builder's exception unchanged: callers of one key use one kind of builder, so
     * its checked type is theirs.
     */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <T extends Throwable> T unchecked(Throwable failure) throws T {
        throw (T) failure;
    }
}
