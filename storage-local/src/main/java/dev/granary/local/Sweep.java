package dev.granary.local;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * Keeps the store within its capacity: takes the oldest entries out of the index, then gives back to the disk what no entry covers. One
 * process sweeps at a time; the others, and all look-ups, go on meanwhile.
 */
final class Sweep {
    /** How much of the capacity a sweep leaves free, for stores to fill until the next: one part in so many. */
    static final int FREED_FRACTION = 32;

    private static final int MOST_WASTED_FRACTION = 16;
    private static final int AT_ONCE = 256;
    private static final long WRONG_CLOCK_AGE_MICROS = TimeUnit.HOURS.toMicros(1);

    private final SegmentStore store;
    private final Reclaim reclaim;
    private final Uses uses;
    private final Trouble trouble;
    private final LongAdder evictions = new LongAdder();
    private final LongAdder unitsEvicted = new LongAdder();

    Sweep(SegmentStore store, Shelf shelf, Uses uses, Trouble trouble) {
        this.store = store;
        this.reclaim = new Reclaim(store, shelf);
        this.uses = uses;
        this.trouble = trouble;
    }

    long evictions() {
        return evictions.sum();
    }

    long bytesEvicted() {
        return unitsEvicted.sum() * Tail.UNIT;
    }

    /** Evicts where there is more than {@code capacity}, and gives back what can be; false where another is sweeping. */
    boolean run(long capacity, EvictionPolicy policy) {
        return alone(() -> {
            StoreFiles files = store.files();
            if (files != null && files.state().diskUnits() > capacity / Tail.UNIT) {
                evict(files, (capacity - capacity / FREED_FRACTION) / Tail.UNIT, policy);
            }
            reclaim.run(capacity, capacity / FREED_FRACTION);
        });
    }

    /** Gives back all that can be, and evicts nothing; false where another is sweeping. */
    boolean reclaim(long capacity) {
        return alone(() -> reclaim.run(capacity, 0));
    }

    private interface Work {
        void run() throws IOException;
    }

    private boolean alone(Work work) {
        try {
            return store.sweepAlone(() -> {
                try {
                    work.run();
                } catch (IOException | InternalError e) {
                    trouble.record(Trouble.Kind.SWEEPING, e);
                }
            });
        } catch (IOException | InternalError e) {
            trouble.record(Trouble.Kind.SWEEPING, e);
            return true; // nobody sweeps: who waited for another would wait in vain
        }
    }

    private void evict(StoreFiles files, long keptUnits, EvictionPolicy policy) throws IOException {
        long now = uses.nowMicros();
        files.writeUses(now);
        correctStamps(files, now);
        Snapshot snapshot = Snapshot.of(files.index());
        long disk = files.state().diskUnits();
        long live = Math.min(snapshot.allUnits(), disk); // a length that rotted must not empty the store
        long wasted = Math.min(disk - live, live / MOST_WASTED_FRACTION); // between the holes: about as much as now
        long tooMany = live + wasted - keptUnits;
        int[] ranks = snapshot.byAge(policy);
        for (int from = 0; from < ranks.length && tooMany > 0; ) {
            int first = from;
            while (from < ranks.length && tooMany > 0 && from - first < AT_ONCE) {
                tooMany -= snapshot.units(ranks[from++]);
            }
            int behind = from;
            store.change(locked -> evict(locked, snapshot, ranks, first, behind));
            store.steps().done(Step.EVICTED);
        }
    }

    /**
     * Corrects stamps that are later than now: they were made while the clock was ahead, at a time that nobody knows. They become an hour old,
     * else their entries would stay until real time catches up, and all that is stored until then would leave in their place.
     */
    private void correctStamps(StoreFiles files, long now) throws IOException {
        Index seen = files.index();
        for (int slot = 0; slot < seen.count(); slot++) {
            if (seen.hasWrongStamp(slot, now)) {
                store.change(this::correctStamps);
                return;
            }
        }
    }

    private boolean correctStamps(StoreFiles files) throws IOException {
        Index index = files.index();
        long now = uses.nowMicros();
        for (int slot = 0; slot < index.count(); slot++) {
            if (index.hasWrongStamp(slot, now)) {
                index.correctStamps(slot, now, Math.max(0, now - WRONG_CLOCK_AGE_MICROS));
            }
        }
        return true;
    }

    private boolean evict(StoreFiles files, Snapshot snapshot, int[] ranks, int first, int behind) throws IOException {
        for (int i = first; i < behind; i++) {
            if (Commit.removeAt(files, snapshot.index(), snapshot.slot(ranks[i]), snapshot.location(ranks[i]))) { // else it left meanwhile
                evictions.increment();
                unitsEvicted.add(snapshot.units(ranks[i]));
            }
        }
        return true;
    }
}
