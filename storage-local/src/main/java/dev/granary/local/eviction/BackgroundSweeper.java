package dev.granary.local.eviction;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;

/** Runs sweeps behind the callers: however often one is asked for, at most one waits and one runs. Thread-safe. */
final class BackgroundSweeper {
    private final Runnable sweep;
    private final Executor background;
    private final AtomicBoolean wanted = new AtomicBoolean();
    private final ReentrantLock running = new ReentrantLock();
    private volatile boolean left; // by an executor that refused

    BackgroundSweeper(Runnable sweep, Executor background) {
        this.sweep = sweep;
        this.background = background;
    }

    /** Asks for a sweep. */
    void request() {
        if (wanted.compareAndSet(false, true)) {
            try {
                background.execute(this::finish);
            } catch (RejectedExecutionException e) {
                left = true;
                wanted.set(false);
            }
        }
    }

    /** Waits for a sweep that runs, and runs one that was asked for and has not begun. */
    void finish() {
        running.lock();
        try {
            if (wanted.getAndSet(false) || left) {
                left = false;
                sweep.run();
            }
        } finally {
            running.unlock();
        }
    }
}
