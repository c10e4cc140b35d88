package dev.granary.local.eviction;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Runner of sweeps in the background: however many are requested, at most one is queued and one
 * runs. Thread-safe.
 */
final class BackgroundSweeper {
    private final Runnable sweep;
    private final Executor background;
    private final AtomicBoolean requested = new AtomicBoolean();
    private final ReentrantLock running = new ReentrantLock();
    private volatile boolean rejected; // a request, which the next finish() runs

    BackgroundSweeper(Runnable sweep, Executor background) {
        this.sweep = sweep;
        this.background = background;
    }

    /** Requests a sweep. */
    void request() {
        if (requested.compareAndSet(false, true)) {
            try {
                background.execute(this::finish);
            } catch (RejectedExecutionException | OutOfMemoryError e) {
                // also if the system has no thread
                rejected = true;
                requested.set(false);
            }
        }
    }

    /** Waits for a running sweep, and runs one that was requested and has not begun. */
    void finish() {
        running.lock();
        try {
            if (requested.getAndSet(false) || rejected) {
                rejected = false;
                sweep.run();
            }
        } finally {
            running.unlock();
        }
    }
}
