package dev.granary.benchmarks.local;

import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The memory outside the heap that looked-up entries may keep until the garbage collector finds
 * them unused.
 */
final class OutsideHeap {
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private OutsideHeap() {}

    /** How many bytes are in use. */
    static long bytes() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .mapToLong(BufferPoolMXBean::getMemoryUsed)
                .sum();
    }

    /**
     * Has the entries of the tier collected and their memory given back, so that nobody pays for it
     * in the next candidate's turn.
     */
    static void letGo(StoreCandidate candidate, long before) {
        if (candidate.owner() != StoreCandidate.TIER || bytes() <= before) {
            return;
        }
        System.gc();
        long start = System.nanoTime();
        while (bytes() > before && System.nanoTime() - start < PATIENCE_NANOS) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }
}
