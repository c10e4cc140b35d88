package dev.granary.coordinator.stores;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.TierStatistics;
import dev.granary.coordinator.dispatch.EventDispatcher;
import dev.granary.coordinator.dispatch.EventKind;
import dev.granary.coordinator.dispatch.EventSpan;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.LoadEvent;
import dev.granary.coordinator.event.StoreEvent;
import dev.granary.coordinator.event.UploadEvent;

import java.time.Duration;
import java.util.Optional;

/**
 * A tier with its counters and events: each result is counted and dispatched at one place, so that
 * the two agree.
 *
 * @param name {@code local}, or the name of the layer
 * @param storeKind the kind of event of a store: of the local tier or of a layer
 * @param cache the tier
 * @param statistics counts every result
 * @param events receives every result
 */
public record CountingCache(
        String name,
        EventKind storeKind,
        PersistentCache cache,
        TierStatistics statistics,
        EventDispatcher events) {
    /** Creates a layer of that name with counters that are 0, and without listeners. */
    public CountingCache(String name, PersistentCache cache) {
        this(name, EventKind.UPLOAD, cache);
    }

    /** Creates the local tier with counters that are 0, and without listeners. */
    public CountingCache(PersistentCache cache) {
        this("local", EventKind.STORE, cache);
    }

    private CountingCache(String name, EventKind storeKind, PersistentCache cache) {
        this(name, storeKind, cache, new TierStatistics(), EventDispatcher.NO_LISTENERS);
    }

    /** Returns the same tier with the same counters, and other receivers of events. */
    public CountingCache withEvents(EventDispatcher dispatcher) {
        return new CountingCache(name, storeKind, cache, statistics, dispatcher);
    }

    /** Begins the event of a load. */
    public EventSpan beginLoad() {
        return events.begin(EventKind.LOAD);
    }

    /**
     * Counts the result of a load, and dispatches its event.
     *
     * @param nanos the time spent in the tier, in nanoseconds
     * @return {@code result}
     */
    public LoadResult count(Id id, LoadResult result, long nanos, EventSpan span) {
        statistics.count(result, nanos);
        span.end(_ -> event(id, result, Duration.ofNanos(nanos)));
        return result;
    }

    /** Dispatches the event of a lookup that skipped the tier, for that reason. */
    public void skipped(Id id, String reason) {
        beginLoad()
                .end(took -> new LoadEvent(
                        EventDispatcher.digest(id),
                        name,
                        LoadEvent.Outcome.SKIPPED,
                        Optional.of(reason),
                        0,
                        took));
    }

    private GranaryEvent event(Id id, LoadResult result, Duration took) {
        LoadEvent.Outcome outcome =
                switch (result) {
                    case LoadResult.Hit _ -> LoadEvent.Outcome.HIT;
                    case LoadResult.Absent _ -> LoadEvent.Outcome.ABSENT;
                    case LoadResult.Damaged _ -> LoadEvent.Outcome.DAMAGED;
                    case LoadResult.Unavailable _ -> LoadEvent.Outcome.UNAVAILABLE;
                };
        Optional<String> cause =
                switch (result) {
                    case LoadResult.Hit _, LoadResult.Absent _ -> Optional.empty();
                    case LoadResult.Damaged bad -> Optional.of(bad.damage() + ": " + bad.detail());
                    case LoadResult.Unavailable lost -> Optional.of(lost.cause());
                };
        return new LoadEvent(
                EventDispatcher.digest(id),
                name,
                outcome,
                cause,
                result instanceof LoadResult.Hit(Entry entry) ? entry.binaries().byteSize() : 0,
                took);
    }

    /** Stores an entry, and counts the result. */
    public StoreResult store(Entry entry) {
        PendingStore pending = beginStore(entry);
        return pending.count(cache.store(entry));
    }

    /** Begins a store of which the result comes later. */
    public PendingStore beginStore(Entry entry) {
        return new PendingStore(entry.id(), entry.binaries().byteSize(), events.begin(storeKind));
    }

    /** A store without a result so far. It does not keep the entry. */
    public final class PendingStore {
        private final Id id;
        private final long bytes;
        private final EventSpan span;

        private PendingStore(Id id, long bytes, EventSpan span) {
            this.id = id;
            this.bytes = bytes;
            this.span = span;
        }

        /**
         * Counts the result, and dispatches its event.
         *
         * @return {@code result}
         */
        public StoreResult count(StoreResult result) {
            statistics.count(result);
            span.end(took -> storeKind == EventKind.STORE
                    ? new StoreEvent(EventDispatcher.digest(id), result, bytes, took)
                    : new UploadEvent(EventDispatcher.digest(id), name, result, bytes, took));
            return result;
        }
    }
}
