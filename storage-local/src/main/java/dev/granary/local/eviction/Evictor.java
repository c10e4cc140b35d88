package dev.granary.local.eviction;

import dev.granary.local.config.EvictionPolicy;
import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.IndexSnapshot;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.StoreStep;
import dev.granary.local.store.EntryReader;
import dev.granary.local.store.IndexCommitter;
import dev.granary.local.store.IoFailureLog;
import dev.granary.local.store.LastUseRecorder;
import dev.granary.local.store.SegmentStore;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * Evictor of a store: removes the oldest entries from the index, then reclaims the space that no
 * entry covers. One process sweeps at a time; other processes and all lookups continue meanwhile.
 */
public final class Evictor {
    /** Divisor of the capacity that gives the space a sweep leaves free for later stores. */
    public static final int FREED_FRACTION = 32;

    private static final int MOST_WASTED_FRACTION = 16;
    private static final int AT_ONCE = 256;
    private static final long WRONG_CLOCK_AGE_MICROS = TimeUnit.HOURS.toMicros(1);

    private final SegmentStore store;
    private final SpaceReclaimer reclaim;
    private final LastUseRecorder uses;
    private final IoFailureLog trouble;
    private final LongAdder evictions = new LongAdder();
    private final LongAdder unitsEvicted = new LongAdder();

    public Evictor(SegmentStore store, EntryReader shelf, LastUseRecorder uses, IoFailureLog trouble) {
        this.store = store;
        this.reclaim = new SpaceReclaimer(store, shelf);
        this.uses = uses;
        this.trouble = trouble;
    }

    public long evictions() {
        return evictions.sum();
    }

    public long bytesEvicted() {
        return unitsEvicted.sum() * EntryLocation.UNIT;
    }

    /**
     * Evicts if usage is above {@code capacity}, and reclaims; returns false if another thread or
     * process is sweeping.
     */
    boolean run(long capacity, EvictionPolicy policy) {
        return alone(() -> {
            OpenStoreFiles files = store.files();
            if (files != null && files.state().diskUnits() > capacity / EntryLocation.UNIT) {
                evict(files, (capacity - capacity / FREED_FRACTION) / EntryLocation.UNIT, policy);
            }
            reclaim.run(capacity, capacity / FREED_FRACTION);
        });
    }

    /**
     * Reclaims all that it can, and evicts nothing; returns false if another thread or process is
     * sweeping.
     */
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
                    trouble.record(IoFailureLog.Kind.SWEEPING, e);
                }
            });
        } catch (IOException | InternalError e) {
            trouble.record(IoFailureLog.Kind.SWEEPING, e);
            return true; // no sweep is running, so waiting for one would be in vain
        }
    }

    private void evict(OpenStoreFiles files, long keptUnits, EvictionPolicy policy) throws IOException {
        long now = uses.nowMicros();
        files.writeUses(now);
        correctStamps(files, now);
        IndexSnapshot snapshot = IndexSnapshot.of(files.index());
        long disk = files.state().diskUnits();
        long live = Math.min(snapshot.allUnits(), disk); // a damaged length must not empty the store
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
            store.steps().done(StoreStep.EVICTED);
        }
    }

    /**
     * Corrects times in the future. They were recorded while the clock was ahead, so the real time
     * is unknown. They become 1 h old: otherwise their entries would stay until real time catches
     * up, and newer entries would be evicted in their place.
     */
    private void correctStamps(OpenStoreFiles files, long now) throws IOException {
        EntryIndex seen = files.index();
        for (int slot = 0; slot < seen.count(); slot++) {
            if (seen.hasWrongStamp(slot, now)) {
                store.change(this::correctStamps);
                return;
            }
        }
    }

    private boolean correctStamps(OpenStoreFiles files) throws IOException {
        EntryIndex index = files.index();
        long now = uses.nowMicros();
        for (int slot = 0; slot < index.count(); slot++) {
            if (index.hasWrongStamp(slot, now)) {
                index.correctStamps(slot, now, Math.max(0, now - WRONG_CLOCK_AGE_MICROS));
            }
        }
        return true;
    }

    private boolean evict(OpenStoreFiles files, IndexSnapshot snapshot, int[] ranks, int first, int behind) throws IOException {
        for (int i = first; i < behind; i++) {
            if (IndexCommitter.removeAt(files, snapshot.index(), snapshot.slot(ranks[i]), snapshot.location(ranks[i]))) { // otherwise it was removed in the meantime
                evictions.increment();
                unitsEvicted.add(snapshot.units(ranks[i]));
            }
        }
        return true;
    }
}
