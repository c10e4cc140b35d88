package dev.granary.local.store;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Wait with a deadline. An interrupt does not shorten it, since an interrupted thread may not use a
 * file channel; {@link #close()} restores the interrupt. For one thread.
 */
public final class BoundedWait implements AutoCloseable {
    private final long start = System.nanoTime();
    private final long nanos;
    private final RemainingTime remaining;
    private boolean interrupted;
    private boolean ended;

    /** Begins a wait of at most {@code nanos} nanoseconds. */
    public BoundedWait(long nanos) {
        this(new RemainingTime(nanos));
    }

    /**
     * Begins a wait of at most the time left in {@code remaining}, from which its duration is
     * deducted when it ends.
     */
    public BoundedWait(RemainingTime remaining) {
        this.nanos = remaining.nanos();
        this.remaining = remaining;
    }

    /** Ends the measured wait; later time is not deducted. */
    void end() {
        if (!ended) {
            ended = true;
            remaining.deduct(System.nanoTime() - start);
        }
    }

    /** Attempt with a timeout. */
    @FunctionalInterface
    interface Attempt {
        /** Waits at most {@code nanos} nanoseconds; returns whether the attempt succeeded. */
        boolean within(long nanos) throws InterruptedException;
    }

    /** Waits for {@code attempt} until the deadline; returns whether it succeeded. */
    boolean until(Attempt attempt) {
        while (true) {
            try {
                return attempt.within(Math.max(0, left()));
            } catch (InterruptedException e) {
                interrupted = true; // and continues to wait
            }
        }
    }

    /** Pauses for {@code pauseNanos} nanoseconds, but not beyond the deadline. */
    public void pause(long pauseNanos) {
        LockSupport.parkNanos(Math.clamp(left(), 0, pauseNanos));
        interrupted |= Thread.interrupted(); // otherwise later pauses would return at once
    }

    public boolean isOver() {
        return left() <= 0;
    }

    /** Returns the duration so far in milliseconds. */
    public long millis() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
    }

    private long left() {
        return nanos - (System.nanoTime() - start);
    }

    @Override
    public void close() {
        end();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
