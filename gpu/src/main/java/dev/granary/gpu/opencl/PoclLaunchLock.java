package dev.granary.gpu.opencl;

import dev.granary.cache.build.StackReserve;

import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;

/**
 * Lock between PoCL's launches of kernels with a required work-group size and the taking of
 * binaries, per process.
 *
 * <p>Taking a binary makes PoCL load functions for any work-group size; for a kernel of required
 * size, the same size as for its launch. At the end of a launch, PoCL up to 5 looks for its
 * function by size. It then finds the other one, which has no users, and aborts the process
 * ({@code pocl_release_dlhandle_cache}). Other launches do not wait. These wait little longer than
 * in PoCL itself, which loads one function at a time.
 */
final class PoclLaunchLock {
    // read: a launch runs; write: binaries are taken
    private static final ReentrantReadWriteLock LOCK = new ReentrantReadWriteLock();

    private PoclLaunchLock() {}

    /** Runs a launch that returns after the kernel has completed. */
    static void launch(Runnable launch) {
        StackReserve.requireLittle(); // an overflow while it is locked would block all others
        LOCK.readLock().lock();
        try {
            launch.run();
        } finally {
            LOCK.readLock().unlock();
        }
    }

    /** Takes a binary. */
    static <T> T take(Supplier<T> query) {
        StackReserve.require();
        LOCK.writeLock().lock();
        try {
            return query.get();
        } finally {
            LOCK.writeLock().unlock();
        }
    }
}
