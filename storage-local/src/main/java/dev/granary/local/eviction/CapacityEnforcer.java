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
    // divisors of the capacity
    private static final int TOLERATED_EXCESS_FRACTION = 16;
    private static final int MAX_EXCESS_FRACTION = 4;
    private static final long RECLAIM_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long SWEEPER_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long NEVER = Long.MIN_VALUE;

    private final SegmentStore store;
    private final Evictor evictor;
    private final EvictionPolicy policy;
    private final BackgroundSweeper sweeper;
    private final long timeoutNanos;
    private volatile long capacity;
    // count of changes at which a sweep was found stalled
    private volatile long stalledAt = NEVER;

    public CapacityEnforcer(
            SegmentStore store,
            Evictor evictor,
            EvictionPolicy policy,
            long capacity,
            Duration timeout,
            Executor background) {
        this.store = store;
        this.evictor = evictor;
        this.policy = policy;
        this.capacity = capacity;
        this.timeoutNanos = timeout.toNanos();
        this.sweeper = new BackgroundSweeper(this::sweepNow, background);
    }

    public long capacity() {
        return capacity;
    }

    /** Changes the capacity; if usage is above it, the oldest entries are evicted at once. */
    public void setCapacity(long bytes) throws IOException {
        capacity = bytes;
        enforce();
    }

    /** Evicts the oldest entries if usage is above the capacity; waits at most 2 s for a sweep. */
    public void enforce() throws IOException {
        if (diskBytes() > capacity) {
            retry(this::sweepNow);
        }
    }

    /** Returns the bytes of all segments on disk, including space that is not yet reclaimed. */
    public long diskBytes() throws IOException {
        OpenStoreFiles files = store.countedFiles();
        return files == null ? 0 : files.state().diskUnits() * EntryLocation.UNIT;
    }

    /** Sweeps now; returns false if another thread or process is sweeping. */
    public boolean sweepNow() {
        return evictor.run(capacity, policy);
    }

    /** Reclaims the space of removed entries; waits at most 2 s for another sweep. */
    public void reclaim() {
        retry(() -> evictor.reclaim(capacity));
    }

    /**
     * Ensures space for a store: if usage is 1/4 above the capacity, sweeps, or waits for another's
     * sweep. After a sweep of its own it returns, even if that reclaimed too little, unless the
     * sweep skipped a segment.
     *
     * @throws FullException if another's sweep reclaims too little before the deadline, or has been
     *     found stalled; or if an own sweep reclaims too little since a segment cannot be opened or
     *     changed
     */
    public void ensureCapacity() throws IOException {
        if (!isFarAboveCapacity()) {
            return;
        }
        long before = store.changes();
        RemainingTime remaining = store.remainingTime();
        try (BoundedWait wait =
                new BoundedWait(new RemainingTime(Math.min(timeoutNanos, remaining.nanos())))) {
            while (isFarAboveCapacity()) {
                if (sweepNow()) {
                    requireNoObstacle();
                    return;
                }
                long now = store.changes();
                if (now == stalledAt) {
                    throw new FullException(fullMessage() + " makes no progress");
                }
                if (wait.isOver()) {
                    // a store whose time was spent on other waits has observed too little
                    boolean isLong =
                            wait.millis() >= TimeUnit.NANOSECONDS.toMillis(timeoutNanos) / 2;
                    stalledAt = now == before && isLong ? now : NEVER;
                    throw new FullException(fullMessage()
                            + (now == before
                                    ? " has made no progress for "
                                    : " has reclaimed too little for ")
                            + wait.millis() + " ms");
                }
                long pause = System.nanoTime();
                wait.pause(SWEEPER_PAUSE_NANOS);
                // a sweep by this thread is no wait
                remaining.deduct(System.nanoTime() - pause);
            }
        }
    }

    /** Requires that usage is not far above the capacity because of segments that sweeps skip. */
    private void requireNoObstacle() throws IOException {
        IOException obstacle = evictor.obstacle();
        if (obstacle != null && isFarAboveCapacity()) {
            throw new FullException(
                    usageMessage() + ", and the sweep cannot reclaim each segment: " + obstacle);
        }
    }

    /** Thrown if there is no space for another entry. */
    public static final class FullException extends IOException {
        private static final long serialVersionUID = 1;

        FullException(String message) {
            super(message);
        }
    }

    private boolean isFarAboveCapacity() throws IOException {
        return diskBytes() - capacity > capacity / MAX_EXCESS_FRACTION;
    }

    private String fullMessage() throws IOException {
        return usageMessage() + ", and the sweep of "
                + (store.isSweeping() ? "this process" : "another process");
    }

    private String usageMessage() throws IOException {
        return "the directory is full: it has " + diskBytes() + " bytes at a capacity of "
                + capacity;
    }

    /**
     * Requests a sweep after a store if one is due; runs it itself only if usage is 1/16 above the
     * capacity.
     */
    public void afterStore() throws IOException {
        long excess = diskBytes() - capacity;
        boolean isSwept = excess > capacity / TOLERATED_EXCESS_FRACTION && sweepNow();
        if (!isSwept && (excess > 0 || store.takeSweepRequest())) {
            sweeper.request(); // a sweep in progress may have missed this entry
        }
    }

    /** Runs a sweep that was requested and has not begun; waits for a running one. */
    public void finish() {
        sweeper.finish();
    }

    private static void retry(BooleanSupplier attempt) {
        try (BoundedWait wait = new BoundedWait(RECLAIM_NANOS)) {
            while (!attempt.getAsBoolean() && !wait.isOver()) {
                wait.pause(SWEEPER_PAUSE_NANOS);
            }
        }
    }
}
