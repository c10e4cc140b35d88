package dev.granary.local;

import java.io.IOException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Keeps what lies on the disk within one tier's capacity: decides when a sweep is due, and whether the caller or the background runs it.
 * Thread-safe.
 */
final class Bound {
    private static final int TOLERATED_FRACTION = 16;
    private static final int INTOLERABLE_FRACTION = 4;
    private static final long SWEEPER_PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long STORE_PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long SWEEPER_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private final SegmentStore store;
    private final Sweep sweep;
    private final EvictionPolicy policy;
    private final Maintenance maintenance;
    private volatile long capacity;
    private volatile long impatientUntil = System.nanoTime();

    Bound(SegmentStore store, Sweep sweep, EvictionPolicy policy, long capacity, Executor background) {
        this.store = store;
        this.sweep = sweep;
        this.policy = policy;
        this.capacity = capacity;
        this.maintenance = new Maintenance(this::sweepNow, background);
    }

    long capacity() {
        return capacity;
    }

    /** Changes the capacity; where it is lower than what is there, the oldest entries leave at once. */
    void setCapacity(long bytes) throws IOException {
        capacity = bytes;
        if (diskBytes() > bytes) {
            patiently(this::sweepNow);
        }
    }

    /** Bytes of all segments, with what is yet to be given back. */
    long diskBytes() throws IOException {
        StoreFiles files = store.files();
        return files == null ? 0 : files.state().diskUnits() * Tail.UNIT;
    }

    /** Sweeps now; false where another is sweeping. */
    boolean sweepNow() {
        return sweep.run(capacity, policy);
    }

    /** Gives back what removed entries took; waits at most two seconds for another that sweeps. */
    void reclaim() {
        patiently(() -> sweep.reclaim(capacity));
    }

    /** Before a store: false where far too much lies on the disk and cannot be made less; waits a moment for another that evicts. */
    boolean makeRoom() throws IOException {
        long start = System.nanoTime();
        boolean waits = start - impatientUntil >= 0; // who waited in vain a moment ago does not wait again
        while (diskBytes() - capacity > capacity / INTOLERABLE_FRACTION && !sweepNow()) {
            if (!waits) {
                return false;
            }
            if (System.nanoTime() - start > STORE_PATIENCE_NANOS) {
                impatientUntil = System.nanoTime() + SWEEPER_PATIENCE_NANOS;
                return false;
            }
            LockSupport.parkNanos(SWEEPER_PAUSE_NANOS);
        }
        return true;
    }

    /** After a store: has a sweep run where one is due, by the caller only where the background does not keep up. */
    void keep() throws IOException {
        long tooMuch = diskBytes() - capacity;
        boolean isSwept = tooMuch > capacity / TOLERATED_FRACTION && sweepNow();
        if (!isSwept && (tooMuch > 0 || store.takeSweepWanted())) {
            maintenance.request(); // a sweep that is under way may have looked before this entry came
        }
    }

    /** Runs a sweep that was asked for and has not begun; waits for one that runs. */
    void finish() {
        maintenance.finish();
    }

    private static void patiently(BooleanSupplier attempt) {
        long start = System.nanoTime();
        while (!attempt.getAsBoolean() && System.nanoTime() - start < SWEEPER_PATIENCE_NANOS) {
            LockSupport.parkNanos(SWEEPER_PAUSE_NANOS);
        }
    }
}
