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
 * Keeps what lies on the disk within one tier's capacity: decides when a sweep is due, and whether the caller or the background runs it.
 * Thread-safe.
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
    private volatile long standsAt = NOWHERE; // the count of changes at which a sweep was seen to stand still

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

    /** Changes the capacity; where it is lower than what is there, the oldest entries leave at once. */
    public void setCapacity(long bytes) throws IOException {
        capacity = bytes;
        if (diskBytes() > bytes) {
            patiently(this::sweepNow);
        }
    }

    /** Bytes of all segments, with what is yet to be given back. */
    public long diskBytes() throws IOException {
        OpenStoreFiles files = store.countedFiles();
        return files == null ? 0 : files.state().diskUnits() * EntryLocation.UNIT;
    }

    /** Sweeps now; false where another is sweeping. */
    public boolean sweepNow() {
        return sweep.run(capacity, policy);
    }

    /** Gives back what removed entries took; waits at most two seconds for another that sweeps. */
    public void reclaim() {
        patiently(() -> sweep.reclaim(capacity));
    }

    /**
     * Makes room before a store: where a quarter more than the capacity lies on the disk, sweeps, or waits for the sweep of another.
     *
     * @throws FullException if that gives back too little before the deadline, or stands still since somebody waited that long
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
                    throw new FullException(full() + " stands still");
                }
                if (wait.isOver()) {
                    standsAt = now == before ? now : NOWHERE;
                    throw new FullException(full() + (now == before ? " has stood still for " : " has given back too little for ")
                            + wait.millis() + " ms");
                }
                long pause = System.nanoTime();
                wait.pause(SWEEPER_PAUSE_NANOS);
                patience.spend(System.nanoTime() - pause); // a sweep of this thread is no wait
            }
        }
    }

    /** No room for another entry. */
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
        return "the directory is full: " + diskBytes() + " bytes lie there where " + capacity + " may, and the sweep of "
                + (store.isSweeping() ? "this process" : "another process");
    }

    /** After a store: has a sweep run where one is due, by the caller only where the background does not keep up. */
    public void keep() throws IOException {
        long tooMuch = diskBytes() - capacity;
        boolean isSwept = tooMuch > capacity / TOLERATED_FRACTION && sweepNow();
        if (!isSwept && (tooMuch > 0 || store.takeSweepWanted())) {
            maintenance.request(); // a sweep that is under way may have looked before this entry came
        }
    }

    /** Runs a sweep that was asked for and has not begun; waits for one that runs. */
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
