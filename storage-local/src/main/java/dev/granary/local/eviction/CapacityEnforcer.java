package dev.granary.local.eviction;

import dev.granary.local.config.EvictionPolicy;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.store.BoundedWait;
import dev.granary.local.store.RemainingTime;
import dev.granary.local.store.SegmentStore;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Enforcer of one tier's capacity: decides when a sweep is due, and whether the caller or the
 * background runs it. Thread-safe.
 */
public final class CapacityEnforcer {
    private static final int TOLERATED_FRACTION = 16;
    private static final int INTOLERABLE_FRACTION = 4;
    private static final long RECLAIM_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long SWEEPER_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long NOWHERE = Long.MIN_VALUE;

    private final SegmentStore store;
    private final Evictor sweep;
    private final EvictionPolicy policy;
    private final BackgroundSweeper maintenance;
    private final long waitNanos;
    private volatile long capacity;
    private volatile long standsAt = NOWHERE; // count of changes at which a sweep was found stalled

    public CapacityEnforcer(SegmentStore store, Evictor sweep, EvictionPolicy policy, long capacity, Duration timeout, Executor background) {
        this.store = store;
        this.sweep = sweep;
        this.policy = policy;
        this.capacity = capacity;
        this.waitNanos = timeout.toNanos();
        this.maintenance = new BackgroundSweeper(this::sweepNow, background);
    }

    public long capacity() {
        return capacity;
    }

    /** Changes the capacity; if usage is above it, the oldest entries are evicted at once. */
    public void setCapacity(long bytes) throws IOException {
        capacity = bytes;
        if (diskBytes() > bytes) {
            patiently(this::sweepNow);
        }
    }

    /** Returns the bytes of all segments, including space that is not yet reclaimed. */
    public long diskBytes() throws IOException {
        OpenStoreFiles files = store.countedFiles();
        return files == null ? 0 : files.state().diskUnits() * EntryLocation.UNIT;
    }

    /** Sweeps now; returns false if another thread or process is sweeping. */
    public boolean sweepNow() {
        return sweep.run(capacity, policy);
    }

    /** Reclaims the space of removed entries; waits at most 2 s for another sweep. */
    public void reclaim() {
        patiently(() -> sweep.reclaim(capacity));
    }

    /**
     * Ensures space for a store: if usage is 1/4 above the capacity, sweeps, or waits for another's
     * sweep.
     *
     * @throws FullException if too little is reclaimed before the deadline, or if the sweep has
     *     been found stalled
     */
    public void makeRoom() throws IOException {
        if (!isFarTooMuch()) {
            return;
        }
        long before = store.changes();
        RemainingTime patience = store.patience();
        try (BoundedWait wait = new BoundedWait(new RemainingTime(Math.min(waitNanos, patience.left())))) {
            while (isFarTooMuch() && !sweepNow()) {
                long now = store.changes();
                if (now == standsAt) {
                    throw new FullException(full() + " makes no progress");
                }
                if (wait.isOver()) {
                    standsAt = now == before ? now : NOWHERE;
                    throw new FullException(full() + (now == before ? " has made no progress for " : " has reclaimed too little for ")
                            + wait.millis() + " ms");
                }
                long pause = System.nanoTime();
                wait.pause(SWEEPER_PAUSE_NANOS);
                patience.spend(System.nanoTime() - pause); // a sweep by this thread is no wait
            }
        }
    }

    /** Thrown if there is no space for another entry. */
    public static final class FullException extends IOException {
        private static final long serialVersionUID = 1;

        FullException(String message) {
            super(message);
        }
    }

    private boolean isFarTooMuch() throws IOException {
        return diskBytes() - capacity > capacity / INTOLERABLE_FRACTION;
    }

    private String full() throws IOException {
        return "the directory is full: it has " + diskBytes() + " bytes at a capacity of " + capacity + ", and the sweep of "
                + (store.isSweeping() ? "this process" : "another process");
    }

    /**
     * Requests a sweep after a store if one is due; runs it itself only if usage is 1/16 above the
     * capacity.
     */
    public void keep() throws IOException {
        long tooMuch = diskBytes() - capacity;
        boolean isSwept = tooMuch > capacity / TOLERATED_FRACTION && sweepNow();
        if (!isSwept && (tooMuch > 0 || store.takeSweepWanted())) {
            maintenance.request(); // a sweep in progress may have missed this entry
        }
    }

    /** Runs a sweep that was requested and has not begun; waits for a running one. */
    public void finish() {
        maintenance.finish();
    }

    private static void patiently(BooleanSupplier attempt) {
        try (BoundedWait wait = new BoundedWait(RECLAIM_NANOS)) {
            while (!attempt.getAsBoolean() && !wait.isOver()) {
                wait.pause(SWEEPER_PAUSE_NANOS);
            }
        }
    }
}
