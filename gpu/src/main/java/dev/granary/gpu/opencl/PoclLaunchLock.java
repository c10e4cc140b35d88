package dev.granary.gpu.opencl;

import dev.granary.cache.build.StackReserve;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;

/**
 * Keeps apart, within the process, PoCL's launches of kernels with a required group size and the taking of binaries.
 *
 * <p>Taking makes PoCL load a function for any group size beside that of the launch, and a kernel of required size has the same size in both. PoCL
 * up to 5 looks for a launch's function by that size when it is over, finds the one just loaded, which nobody uses, and aborts the process
 * ({@code pocl_release_dlhandle_cache}). No other launch waits, and these not much longer than PoCL has them wait anyway: it loads one
 * function at a time.
 */
final class PoclLaunchLock {
    private static final ReentrantReadWriteLock LOCK = new ReentrantReadWriteLock(); // read: a launch runs; write: binaries are taken

    private PoclLaunchLock() {}

    /** Runs a launch that returns when the kernel has run. */
    static void launch(Runnable launch) {
        StackReserve.requireLittle(); // a lock that is not let go would stop all others
        LOCK.readLock().lock();
        try {
            launch.run();
        } finally {
            LOCK.readLock().unlock();
        }
    }

    /** Asks for a binary. */
    static <T> T take(Supplier<T> taking) {
        StackReserve.require();
        LOCK.writeLock().lock();
        try {
            return taking.get();
        } finally {
            LOCK.writeLock().unlock();
        }
    }
}
