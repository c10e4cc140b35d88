package dev.granary.local;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A wait with a deadline. An interrupt does not shorten it, since an interrupted thread may not touch a file channel; the interrupt is given
 * back when the wait is closed. For one thread.
 */
final class Wait implements AutoCloseable {
    private final long start = System.nanoTime();
    private final long nanos;
    private boolean interrupted;

    /** Begins a wait of at most {@code nanos} nanoseconds. */
    Wait(long nanos) {
        this.nanos = nanos;
    }

    /** Something that can be waited for. */
    @FunctionalInterface
    interface Attempt {
        /** Waits at most so many nanoseconds; returns whether it happened. */
        boolean within(long nanos) throws InterruptedException;
    }

    /** Waits for {@code attempt} until the deadline; returns whether it happened. */
    boolean until(Attempt attempt) {
        while (true) {
            try {
                return attempt.within(Math.max(0, left()));
            } catch (InterruptedException e) {
                interrupted = true; // and goes on
            }
        }
    }

    /** Pauses for a moment, which does not end behind the deadline. */
    void pause(long pauseNanos) {
        LockSupport.parkNanos(Math.clamp(left(), 0, pauseNanos));
        interrupted |= Thread.interrupted(); // else no pause would pause any more
    }

    boolean isOver() {
        return left() <= 0;
    }

    /** How long it has lasted. */
    long millis() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
    }

    private long left() {
        return nanos - (System.nanoTime() - start);
    }

    @Override
    public void close() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
