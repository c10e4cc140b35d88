package dev.granary.coordinator;

import java.util.concurrent.locks.LockSupport;

/** The monotonic clock, and the passing of its time. */
interface MonotonicTime {
    /** The machine's. */
    MonotonicTime SYSTEM = new MonotonicTime() {
        @Override
        public long nanos() {
            return System.nanoTime();
        }

        @Override
        public void pause(long nanos) {
            LockSupport.parkNanos(nanos);
        }
    };

    /** The time since some moment, in nanoseconds. */
    long nanos();

    /** Lets about so many nanoseconds pass; less where the thread is interrupted. */
    void pause(long nanos);
}
