package dev.granary.cache;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** Counters of the results of one tier. Thread-safe; counters only grow. */
public final class TierStatistics {
    private final LongAdder hits = new LongAdder();
    private final LongAdder bytesRead = new LongAdder();
    private final LongAdder loadNanos = new LongAdder();
    private final LongAdder absent = new LongAdder();
    private final LongAdder unavailable = new LongAdder();
    private final Map<DamageKind, LongAdder> damaged = new EnumMap<>(DamageKind.class);
    private final LongAdder stored = new LongAdder();
    private final LongAdder bytesStored = new LongAdder();
    private final LongAdder duplicates = new LongAdder();
    private final LongAdder divergent = new LongAdder();
    private final LongAdder refused = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final LongAdder unknown = new LongAdder();

    /** Creates counters at zero. */
    public TierStatistics() {
        for (DamageKind damage : DamageKind.values()) {
            damaged.put(damage, new LongAdder());
        }
    }

    /**
     * The values of the counters, read one after the other while they may grow.
     *
     * @param hits lookups that found a verified entry
     * @param absent lookups that found nothing
     * @param damaged lookups that found damage, by kind; only kinds that occurred
     * @param unavailable lookups without an answer
     * @param bytesRead bytes of binaries in the hits
     * @param loadNanos time spent in all lookups, in nanoseconds
     * @param stored entries written
     * @param bytesStored bytes written, as stored
     * @param duplicates stores that found the same content
     * @param divergent stores that found different content, which stayed
     * @param refused stores that were rejected
     * @param failed stores that failed
     * @param unknown stores with an unknown outcome
     */
    public record Snapshot(
            long hits,
            long absent,
            Map<DamageKind, Long> damaged,
            long unavailable,
            long bytesRead,
            long loadNanos,
            long stored,
            long bytesStored,
            long duplicates,
            long divergent,
            long refused,
            long failed,
            long unknown) {
        /** Copies the map. */
        public Snapshot {
            damaged = Map.copyOf(damaged);
        }

        /** Returns the number of lookups that were not hits. */
        public long misses() {
            return absent
                    + unavailable
                    + damaged.values().stream().mapToLong(Long::longValue).sum();
        }
    }

    /**
     * Counts a lookup that took {@code nanos} nanoseconds.
     *
     * @return {@code result}
     */
    public LoadResult count(LoadResult result, long nanos) {
        loadNanos.add(nanos);
        switch (result) {
            case LoadResult.Hit hit -> {
                hits.increment();
                bytesRead.add(hit.entry().binaries().byteSize());
            }
            case LoadResult.Absent _ -> absent.increment();
            case LoadResult.Damaged bad -> counter(bad.damage()).increment();
            case LoadResult.Unavailable _ -> unavailable.increment();
        }
        return result;
    }

    /**
     * Counts a store.
     *
     * @return {@code result}
     */
    public StoreResult count(StoreResult result) {
        switch (result) {
            case StoreResult.Stored done -> {
                stored.increment();
                bytesStored.add(done.bytes());
            }
            case StoreResult.Duplicate _ -> duplicates.increment();
            case StoreResult.Divergent _ -> divergent.increment();
            case StoreResult.Refused _ -> refused.increment();
            case StoreResult.Failed _ -> failed.increment();
            case StoreResult.Unknown _ -> unknown.increment();
        }
        return result;
    }

    /** Returns the current values. */
    public Snapshot snapshot() {
        Map<DamageKind, Long> counts = new EnumMap<>(DamageKind.class);
        damaged.forEach((kind, count) -> {
            if (count.sum() > 0) {
                counts.put(kind, count.sum());
            }
        });
        return new Snapshot(
                hits.sum(),
                absent.sum(),
                counts,
                unavailable.sum(),
                bytesRead.sum(),
                loadNanos.sum(),
                stored.sum(),
                bytesStored.sum(),
                duplicates.sum(),
                divergent.sum(),
                refused.sum(),
                failed.sum(),
                unknown.sum());
    }

    private LongAdder counter(DamageKind damage) {
        LongAdder counter = damaged.get(damage);
        if (counter == null) {
            throw new IllegalStateException("No counter for " + damage);
        }
        return counter;
    }
}
