package dev.granary.coordinator.tier;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.observe.EventDispatcher.Span;
import dev.granary.coordinator.observe.EventKind;
import dev.granary.coordinator.statistics.Counter;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * A tier below the memory tier, as lookups use it, with its counters and events. Each result is
 * counted and dispatched here, so that the two agree. No method throws because of the state of a
 * store. Thread-safe.
 */
public final class CountedTier implements AutoCloseable {
    private final CacheTier tier;
    private final EventKind storeKind;
    private final EventDispatcher events;
    private final boolean isLocal;
    private final Counters counters;
    private volatile @Nullable Target missed;

    /**
     * Creates a tier with counters that are 0.
     *
     * @param storeKind the kind of event of a store: of the local tier or of a layer
     */
    public CountedTier(CacheTier tier, EventKind storeKind, EventDispatcher events) {
        this.tier = tier;
        this.storeKind = storeKind;
        this.events = events;
        this.isLocal = storeKind == EventKind.STORE;
        this.counters = new Counters(
                isLocal
                        ? EnumSet.range(Counter.LOCAL_LOOKUPS, Counter.LOCAL_TIME)
                        : EnumSet.range(Counter.LAYER_LOOKUPS, Counter.LAYER_TIME));
    }

    /** Returns {@code local}, or the name of the layer. */
    public String name() {
        return tier.name();
    }

    /**
     * Loads the entry of the first id that has one. All ids are one load.
     *
     * @param ids the ids of the same inputs in one or several namespaces, in the order of the
     *     search; not empty
     * @return the hit, else the failure that ended the search, else the miss of the first id
     */
    public LoadResult load(List<Id> ids, Deadline deadline) {
        Span span = events.begin(EventKind.LOAD);
        long start = System.nanoTime();
        LoadResult result = tier.load(ids, deadline);
        return counted(ids.getFirst(), result, System.nanoTime() - start, span);
    }

    /** Repeats a load during a wait for another process: only a hit counts. */
    public LoadResult poll(List<Id> ids) {
        Span span = events.begin(EventKind.LOAD);
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

    private LoadResult counted(Id id, LoadResult result, long nanos, Span span) {
        long bytes =
                result instanceof LoadResult.Hit(Entry entry) ? entry.binaries().byteSize() : 0;
        if (result == BoundedTier.SKIPPED) {
            if (!isLocal) {
                counters.increment(Counter.LAYER_SKIPPED);
            }
        } else {
            count(Counter.LOCAL_LOOKUPS, Counter.LAYER_LOOKUPS, 1);
            count(Counter.LOCAL_TIME, Counter.LAYER_TIME, nanos);
            if (result instanceof LoadResult.Hit) {
                count(Counter.LOCAL_HITS, Counter.LAYER_HITS, 1);
                count(Counter.LOCAL_READ_BYTES, Counter.LAYER_READ_BYTES, bytes);
            } else if (isUntrusted(result)) {
                count(Counter.LOCAL_UNTRUSTED, Counter.LAYER_UNTRUSTED, 1);
            } else if (result instanceof LoadResult.Damaged) {
                count(Counter.LOCAL_DAMAGED, Counter.LAYER_DAMAGED, 1);
            } else if (result instanceof LoadResult.Unavailable && !isLocal) {
                counters.increment(Counter.LAYER_UNAVAILABLE);
            } else if (result instanceof LoadResult.Absent) {
                missed = id.target();
            }
        }
        if (!span.isObserved()) {
            return result;
        }
        span.end(_ -> new GranaryEvent.Load(
                EventDispatcher.digest(id),
                name(),
                switch (result) {
                    case LoadResult.Hit _ -> GranaryEvent.Load.Outcome.HIT;
                    case LoadResult.Absent _ -> GranaryEvent.Load.Outcome.ABSENT;
                    case LoadResult.Damaged _ ->
                        isUntrusted(result)
                                ? GranaryEvent.Load.Outcome.UNTRUSTED
                                : GranaryEvent.Load.Outcome.DAMAGED;
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

    private static boolean isUntrusted(LoadResult result) {
        return result instanceof LoadResult.Damaged bad && bad.damage() == DamageKind.UNTRUSTED;
    }

    public StoreResult store(Entry entry) {
        UnaryOperator<StoreResult> counted = begin(entry);
        return counted.apply(storeUncounted(entry));
    }

    /** Stores an entry that {@link #begin} has announced. */
    public StoreResult storeUncounted(Entry entry) {
        return tier.store(entry);
    }

    /**
     * Begins a store of which the result comes later, such as one in a pack. The returned function
     * counts the result and dispatches its event; it does not keep the entry.
     */
    public UnaryOperator<StoreResult> begin(Entry entry) {
        String id = EventDispatcher.digest(entry.id());
        long bytes = entry.binaries().byteSize();
        Span span = events.begin(storeKind);
        return result -> {
            if (result instanceof StoreResult.Stored(long stored)) {
                count(Counter.LOCAL_STORED, Counter.LAYER_STORED, 1);
                count(Counter.LOCAL_STORED_BYTES, Counter.LAYER_STORED_BYTES, stored);
            }
            span.end(took -> isLocal
                    ? new GranaryEvent.Store(id, result, bytes, took)
                    : new GranaryEvent.Upload(id, name(), result, bytes, took));
            return result;
        };
    }

    /** Removes an entry that was loaded here and proved unusable. */
    public void discard(Entry entry) {
        tier.discard(entry);
    }

    /** Records that an entry of this tier was used, and saved a compile. */
    public void used(Entry entry) {
        tier.used(entry);
    }

    /** Returns the counters of this tier, in events or nanoseconds. */
    public Map<Counter, Long> counted() {
        return counters.snapshot();
    }

    /** Returns the target of the last lookup whose entry was absent. */
    Optional<Target> missed() {
        return Optional.ofNullable(missed);
    }

    private void count(Counter ofLocal, Counter ofLayer, long amount) {
        counters.add(isLocal ? ofLocal : ofLayer, amount);
    }

    @Override
    public void close() {
        tier.close();
    }
}
