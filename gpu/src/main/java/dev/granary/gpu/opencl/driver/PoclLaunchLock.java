package dev.granary.gpu.opencl.driver;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/**
 * Lock between PoCL's launches of kernels with a required work-group size and the taking of
 * binaries, per process.
 *
 * <p>When a binary is taken, PoCL loads a function for any work-group size of each kernel. If a
 * kernel has a required size, that function has the same size as the function of its launch. At the
 * end of a launch, PoCL up to 5 searches the function by its size. It then finds the one of the
 * binary, which has no users, and aborts the process ({@code pocl_release_dlhandle_cache}).
 *
 * <p>Launches of other kernels do not wait. These wait little longer than in PoCL itself, which
 * loads one function at a time.
 */
public final class PoclLaunchLock {
    private static final int ALL = Integer.MAX_VALUE;
    private static final long COURTESY_MILLIS = 100;

    // fair, so that launches without pause let takers through; a launch has 1, a taker all
    private static final Semaphore PERMITS = new Semaphore(ALL, true);

    private PoclLaunchLock() {}

    /**
     * Launches a kernel, after a wait while a binary is taken. A taker that waits for launches goes
     * first for a short time only: one of these launches may wait for an event that the caller
     * completes later.
     *
     * @param launch returns after the kernel has completed
     */
    public static int launch(IntSupplier launch) {
        acquire();
        try {
            return launch.getAsInt();
        } finally {
            PERMITS.release();
        }
    }

    private static void acquire() {
        boolean wasInterrupted = false;
        try {
            while (true) {
                try {
                    // the second attempt does not queue behind waiting takers
                    if (PERMITS.tryAcquire(COURTESY_MILLIS, TimeUnit.MILLISECONDS)
                            || PERMITS.tryAcquire()) {
                        return;
                    }
                } catch (InterruptedException e) {
                    wasInterrupted = true; // the wait goes on: a launch ends by itself
                }
            }
        } finally {
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Takes a binary. */
    public static <T> T take(Supplier<T> query) {
        PERMITS.acquireUninterruptibly(ALL);
        try {
            return query.get();
        } finally {
            PERMITS.release(ALL);
        }
    }
}
