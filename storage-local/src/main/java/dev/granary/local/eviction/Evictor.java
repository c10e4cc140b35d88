package dev.granary.local.eviction;

import dev.granary.cache.EvictionListener;
import dev.granary.cache.support.LogOnce;
import dev.granary.local.config.EvictionPolicy;
import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.IndexSnapshot;
import dev.granary.local.file.MappingFault;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.StoreStep;
import dev.granary.local.store.EntryReader;
import dev.granary.local.store.EntryRemover;
import dev.granary.local.store.IoFailureLog;
import dev.granary.local.store.LastUseRecorder;
import dev.granary.local.store.SegmentStore;

import org.jspecify.annotations.Nullable;

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

    /** Divisor of the entries' space that gives the most space assumed to stay unreclaimed. */
    private static final int MAX_WASTED_FRACTION = 16;

    private static final int BATCH_SIZE = 256;
    private static final long WRONG_CLOCK_AGE_MICROS = TimeUnit.HOURS.toMicros(1);

    private final SegmentStore store;
    private final SpaceReclaimer reclaimer;
    private final LastUseRecorder lastUses;
    private final IoFailureLog failures;
    private final LongAdder evictions = new LongAdder();
    private final LongAdder unitsEvicted = new LongAdder();
    private volatile EvictionListener listener = EvictionListener.NONE;
    private volatile @Nullable IOException obstacle;

    public Evictor(
            SegmentStore store,
            EntryReader reader,
            LastUseRecorder lastUses,
            IoFailureLog failures) {
        this.store = store;
        this.reclaimer = new SpaceReclaimer(store, reader);
        this.lastUses = lastUses;
        this.failures = failures;
    }

    public long evictions() {
        return evictions.sum();
    }

    public long bytesEvicted() {
        return unitsEvicted.sum() * EntryLocation.UNIT;
    }

    public void setListener(EvictionListener newListener) {
        listener = newListener;
    }

    /**
     * Evicts if usage is above {@code capacity}, and reclaims; returns false if another thread or
     * process is sweeping.
     */
    boolean run(long capacity, EvictionPolicy policy) {
        return exclusively(() -> {
            OpenStoreFiles files = store.files();
            if (files != null && files.state().diskUnits() > capacity / EntryLocation.UNIT) {
                evictAndReport(
                        files, (capacity - capacity / FREED_FRACTION) / EntryLocation.UNIT, policy);
            }
            return reclaimer.run(capacity, capacity / FREED_FRACTION);
        });
    }

    /**
     * Reclaims all that it can, and evicts nothing; returns false if another thread or process is
     * sweeping.
     */
    boolean reclaim(long capacity) {
        return exclusively(() -> reclaimer.run(capacity, 0));
    }

    /**
     * Returns the failure of a segment that the last sweep of this evictor skipped, or null. No
     * sweep reclaims the space of such a segment until the cause is removed.
     */
    @Nullable
    IOException obstacle() {
        return obstacle;
    }

    /** A sweep; {@link #run} returns the failure of a segment that it skipped, or null. */
    private interface Work {
        @Nullable
        IOException run() throws IOException;
    }

    private boolean exclusively(Work work) {
        try {
            return store.runSweep(() -> {
                IOException skipped = null;
                try {
                    skipped = work.run();
                    MappingFault.throwPending();
                    if (skipped != null) {
                        failures.record(IoFailureLog.Kind.SWEEPING, skipped);
                    }
                } catch (IOException | InternalError e) {
                    failures.record(IoFailureLog.Kind.SWEEPING, e);
                } finally {
                    obstacle = skipped;
                }
            });
        } catch (IOException | InternalError e) {
            failures.record(IoFailureLog.Kind.SWEEPING, e);
            return true; // no sweep is running that a wait could end with
        }
    }

    private void evictAndReport(OpenStoreFiles files, long targetUnits, EvictionPolicy policy)
            throws IOException {
        EvictionListener.Eviction eviction = beginEviction();
        // nothing else changes these counts, since sweeps exclude each other
        long entriesBefore = evictions();
        long bytesBefore = bytesEvicted();
        try {
            evict(files, targetUnits, policy);
        } finally {
            long entries = evictions() - entriesBefore;
            if (entries > 0) {
                report(eviction, entries, bytesEvicted() - bytesBefore);
            }
        }
    }

    private EvictionListener.Eviction beginEviction() {
        try {
            return listener.begin();
        } catch (RuntimeException e) {
            return failedListener(e);
        }
    }

    private static void report(EvictionListener.Eviction eviction, long entries, long bytes) {
        try {
            eviction.evicted(entries, bytes);
        } catch (RuntimeException e) {
            failedListener(e);
        }
    }

    private static EvictionListener.Eviction failedListener(RuntimeException e) {
        LogOnce.warn("eviction listener", "A listener of evictions failed: " + e);
        return EvictionListener.NONE.begin();
    }

    private void evict(OpenStoreFiles files, long targetUnits, EvictionPolicy policy)
            throws IOException {
        long now = lastUses.nowMicros();
        files.writeUses(now);
        correctTimes(files, now);
        IndexSnapshot snapshot = IndexSnapshot.of(files.index());
        long disk = files.state().diskUnits();
        // a damaged length must not empty the store
        long live = Math.min(snapshot.allUnits(), disk);
        // space that is on the disk without an entry; about as much stays after this sweep
        long wasted = Math.min(disk - live, live / MAX_WASTED_FRACTION);
        long excess = live + wasted - targetUnits;
        int[] ranks = snapshot.byAge(policy);
        for (int from = 0; from < ranks.length && excess > 0; ) {
            int first = from;
            while (from < ranks.length && excess > 0 && from - first < BATCH_SIZE) {
                excess -= snapshot.units(ranks[from++]);
            }
            int end = from;
            store.change(locked -> evict(locked, snapshot, ranks, first, end));
            store.steps().done(StoreStep.EVICTED);
        }
    }

    /**
     * Corrects times in the future. They were recorded while the clock was ahead, so the real time
     * is unknown. They become 1 h old: otherwise their entries would stay until real time catches
     * up, and newer entries would be evicted in their place.
     */
    private void correctTimes(OpenStoreFiles files, long now) throws IOException {
        EntryIndex index = files.index();
        for (int slot = 0; slot < index.count(); slot++) {
            if (index.hasWrongTime(slot, now)) {
                store.change(this::correctTimes);
                return;
            }
        }
    }

    private boolean correctTimes(OpenStoreFiles files) throws IOException {
        EntryIndex index = files.index();
        long now = lastUses.nowMicros();
        for (int slot = 0; slot < index.count(); slot++) {
            if (index.hasWrongTime(slot, now)) {
                index.correctTimes(slot, now, Math.max(0, now - WRONG_CLOCK_AGE_MICROS));
            }
        }
        return true;
    }

    private boolean evict(
            OpenStoreFiles files, IndexSnapshot snapshot, int[] ranks, int first, int end)
            throws IOException {
        for (int i = first; i < end; i++) {
            // otherwise it was removed in the meantime
            if (EntryRemover.removeAt(
                    files,
                    snapshot.index(),
                    snapshot.slot(ranks[i]),
                    snapshot.location(ranks[i]))) {
                evictions.increment();
                unitsEvicted.add(snapshot.units(ranks[i]));
            }
        }
        return true;
    }
}
