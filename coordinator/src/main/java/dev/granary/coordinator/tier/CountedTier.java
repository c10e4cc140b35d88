package dev.granary.coordinator.tier;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.observe.EventKind;
import dev.granary.coordinator.observe.EventSpan;
import dev.granary.coordinator.statistics.GranaryStatistics.TierStatistics;

import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * A tier with its counters and events, the outermost decorator: each result is counted and
 * dispatched at one place, so that the two agree.
 */
public final class CountedTier implements Tier {
    private final Tier tier;
    private final EventKind storeKind;
    private final EventDispatcher events;
    private final LongAdder bytesRead = new LongAdder();
    private final LongAdder loadNanos = new LongAdder();
    private final LongAdder skipped = new LongAdder();
    private final LongAdder bytesStored = new LongAdder();
    // the other results, by their class; of damaged entries by their kind
    private final Map<Object, LongAdder> results = new ConcurrentHashMap<>();

    /**
     * Creates a tier with counters that are 0.
     *
     * @param storeKind the kind of event of a store: of the local tier or of a layer
     */
    public CountedTier(Tier tier, EventKind storeKind, EventDispatcher events) {
        this.tier = tier;
        this.storeKind = storeKind;
        this.events = events;
    }

    @Override
    public String name() {
        return tier.name();
    }

    @Override
    public LoadResult load(List<Id> ids, Deadline deadline) {
        EventSpan span = events.begin(EventKind.LOAD);
        long start = System.nanoTime();
        LoadResult result = tier.load(ids, deadline);
        return counted(ids.getFirst(), result, System.nanoTime() - start, span);
    }

    /** Repeats a load during a wait for another process: only a hit counts. */
    public LoadResult poll(List<Id> ids) {
        EventSpan span = events.begin(EventKind.LOAD);
        long start = System.nanoTime();
        LoadResult result = tier.load(ids, Deadline.NONE);
        return result instanceof LoadResult.Hit
                ? counted(ids.getFirst(), result, System.nanoTime() - start, span)
                : result;
    }

    /** Loads an entry for work other than a lookup, which does not count. */
    public LoadResult read(Id id) {
        return tier.load(List.of(id), Deadline.NONE);
    }

    private LoadResult counted(Id id, LoadResult result, long nanos, EventSpan span) {
        if (result == BoundedTier.SKIPPED) {
            skipped.increment();
        } else {
            loadNanos.add(nanos);
            count(result instanceof LoadResult.Damaged bad ? bad.damage() : result.getClass());
        }
        long bytes =
                result instanceof LoadResult.Hit(Entry entry) ? entry.binaries().byteSize() : 0;
        bytesRead.add(bytes);
        span.end(_ -> new GranaryEvent.Load(
                EventDispatcher.digest(id),
                name(),
                switch (result) {
                    case LoadResult.Hit _ -> GranaryEvent.Load.Outcome.HIT;
                    case LoadResult.Absent _ -> GranaryEvent.Load.Outcome.ABSENT;
                    case LoadResult.Damaged _ -> GranaryEvent.Load.Outcome.DAMAGED;
                    case LoadResult.Unavailable _ ->
                        result == BoundedTier.SKIPPED
                                ? GranaryEvent.Load.Outcome.SKIPPED
                                : GranaryEvent.Load.Outcome.UNAVAILABLE;
                },
                switch (result) {
                    case LoadResult.Hit _, LoadResult.Absent _ -> Optional.empty();
                    case LoadResult.Damaged bad -> Optional.of(bad.damage() + ": " + bad.detail());
                    case LoadResult.Unavailable lost -> Optional.of(lost.cause());
                },
                bytes,
                Duration.ofNanos(nanos)));
        return result;
    }

    @Override
    public StoreResult store(Entry entry) {
        PendingStore pending = begin(entry);
        return pending.end(storeUncounted(entry));
    }

    /** Stores an entry that {@link #begin} has announced. */
    public StoreResult storeUncounted(Entry entry) {
        return tier.store(entry);
    }

    /** Begins a store of which the result comes later, such as one in a pack. */
    public PendingStore begin(Entry entry) {
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
        public StoreResult end(StoreResult result) {
            count(result.getClass());
            if (result instanceof StoreResult.Stored(long stored)) {
                bytesStored.add(stored);
            }
            span.end(took -> storeKind == EventKind.STORE
                    ? new GranaryEvent.Store(EventDispatcher.digest(id), result, bytes, took)
                    : new GranaryEvent.Upload(
                            EventDispatcher.digest(id), name(), result, bytes, took));
            return result;
        }
    }

    @Override
    public void discard(Entry entry) {
        tier.discard(entry);
    }

    @Override
    public void used(Entry entry) {
        tier.used(entry);
    }

    /** Returns the number of loads that the time budget did not allow. */
    public long skipped() {
        return skipped.sum();
    }

    /** Returns the current values of the other counters. */
    public TierStatistics statistics() {
        Map<DamageKind, Long> damaged = new EnumMap<>(DamageKind.class);
        for (DamageKind kind : DamageKind.values()) {
            if (sum(kind) > 0) {
                damaged.put(kind, sum(kind));
            }
        }
        return new TierStatistics(
                sum(LoadResult.Hit.class),
                sum(LoadResult.Absent.class),
                damaged,
                sum(LoadResult.Unavailable.class),
                bytesRead.sum(),
                loadNanos.sum(),
                sum(StoreResult.Stored.class),
                bytesStored.sum(),
                sum(StoreResult.Duplicate.class),
                sum(StoreResult.Divergent.class),
                sum(StoreResult.Refused.class),
                sum(StoreResult.Failed.class),
                sum(StoreResult.Unknown.class));
    }

    private void count(Object result) {
        results.computeIfAbsent(result, _ -> new LongAdder()).increment();
    }

    private long sum(Object result) {
        LongAdder counter = results.get(result);
        return counter == null ? 0 : counter.sum();
    }

    @Override
    public void close() {
        tier.close();
    }
}
