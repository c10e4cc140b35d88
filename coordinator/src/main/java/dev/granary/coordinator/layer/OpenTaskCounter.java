package dev.granary.coordinator.layer;

import java.util.concurrent.TimeUnit;

/**
 * Counter of tasks in progress, with a wait until there are none. Thread-safe; any number of
 * threads may wait.
 */
public final class OpenTaskCounter {
    private int count; // guarded by this

    public synchronized void begin() {
        count++;
    }

    public synchronized void end(int tasks) {
        count -= tasks;
        if (count == 0) {
            notifyAll();
        }
    }

    /**
     * Waits until no task is in progress, or until {@code System.nanoTime()} reaches
     * {@code deadline}.
     *
     * @return true if no task is in progress
     */
    public synchronized boolean awaitNone(long deadline) throws InterruptedException {
        while (count > 0) {
            long remaining = deadline - System.nanoTime();
            if (remaining <= 0) {
                return false;
            }
            TimeUnit.NANOSECONDS.timedWait(this, remaining);
        }
        return true;
    }

    /** Returns true if no task is in progress. */
    public synchronized boolean isNone() {
        return count == 0;
    }
}
