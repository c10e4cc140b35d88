package dev.granary.coordinator;

import java.util.concurrent.TimeUnit;

/** Counts tasks that were begun and did not end yet, and waits for all of them. Thread-safe; any number of threads may wait. */
final class OpenTasks {
    private int count; // guarded by this

    synchronized void begin() {
        count++;
    }

    synchronized void end(int tasks) {
        count -= tasks;
        if (count == 0) {
            notifyAll();
        }
    }

    /** Waits until none is open, or until {@code System.nanoTime()} has reached {@code deadline}; true if none is. */
    synchronized boolean awaitNone(long deadline) throws InterruptedException {
        while (count > 0) {
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                return false;
            }
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        return true;
    }
}
