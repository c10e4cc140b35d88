package dev.granary.coordinator.publish;

import java.util.concurrent.TimeUnit;

/** Counts tasks that were begun and did not end yet, and waits for all of them. Thread-safe; any number of threads may wait. */
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

    /** Waits until none is open, or until {@code System.nanoTime()} has reached {@code deadline}; true if none is. */
    public synchronized boolean awaitNone(long deadline) throws InterruptedException {
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
