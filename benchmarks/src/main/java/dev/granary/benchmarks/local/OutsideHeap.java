package dev.granary.benchmarks.local;

import dev.granary.benchmarks.local.store.StoreCandidate;

import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Memory outside the heap of entries that the garbage collector has not yet found unused. */
final class OutsideHeap {
    private static final long TIME_LIMIT_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private OutsideHeap() {}

    /** Returns the bytes in use. */
    static long bytes() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .mapToLong(BufferPoolMXBean::getMemoryUsed)
                .sum();
    }

    /**
     * Makes the garbage collector free the entries that were read, so that their cost is not part
     * of the next candidate's turn.
     */
    static void letGo(StoreCandidate candidate, long before) {
        if (!candidate.keepsMemory() || bytes() <= before) {
            return;
        }
        System.gc();
        long start = System.nanoTime();
        while (bytes() > before && System.nanoTime() - start < TIME_LIMIT_NANOS) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }
}
