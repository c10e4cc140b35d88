package dev.granary.local.store;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A wait with a deadline. An interrupt does not shorten it, since an interrupted thread may not touch a file channel; the interrupt is given
 * back when the wait is closed. For one thread.
 */
public final class BoundedWait implements AutoCloseable {
    private final long start = System.nanoTime();
    private final long nanos;
    private final RemainingTime patience;
    private boolean interrupted;
    private boolean ended;

    /** Begins a wait of at most {@code nanos} nanoseconds. */
    public BoundedWait(long nanos) {
        this(new RemainingTime(nanos));
    }

    /** Begins a wait of at most what is left of {@code patience}, which it is taken from when the wait ends. */
    public BoundedWait(RemainingTime patience) {
        this.nanos = patience.left();
        this.patience = patience;
    }

    /** The wait is over, and what follows is not part of it. */
    void end() {
        if (!ended) {
            ended = true;
            patience.spend(System.nanoTime() - start);
        }
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
    public void pause(long pauseNanos) {
        LockSupport.parkNanos(Math.clamp(left(), 0, pauseNanos));
        interrupted |= Thread.interrupted(); // else no pause would pause any more
    }

    public boolean isOver() {
        return left() <= 0;
    }

    /** How long it has lasted. */
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
