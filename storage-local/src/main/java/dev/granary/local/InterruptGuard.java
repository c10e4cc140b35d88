package dev.granary.local;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;

/**
 * Scope that holds back interrupts of the current thread and restores them when it is closed. An
 * interrupt would close a file channel for all threads and release the process's locks on that
 * file. For one thread, and for operations without long waits.
 */
final class InterruptGuard implements AutoCloseable {
    private boolean interrupted = Thread.interrupted();

    /**
     * Acquires a lock within {@code nanos} nanoseconds, whatever interrupts arrive; returns whether
     * it succeeded.
     */
    boolean tryLock(Lock lock, long nanos) {
        long start = System.nanoTime();
        while (true) {
            try {
                return lock.tryLock(nanos - (System.nanoTime() - start), TimeUnit.NANOSECONDS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
    }

    /** Pauses for {@code nanos} nanoseconds. An interrupt ends this pause, but not later ones. */
    void pause(long nanos) {
        LockSupport.parkNanos(nanos);
        interrupted |= Thread.interrupted();
    }

    @Override
    public void close() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
