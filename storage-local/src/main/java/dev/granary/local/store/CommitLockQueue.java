package dev.granary.local.store;

import dev.granary.local.file.StatePage;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.channels.FileLock;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Queue for the commit lock. Threads of this process are queued in order of arrival, and the first
 * of them requests the lock that processes share. Thread-safe.
 *
 * <p>The lock is mostly held for microseconds, so it is tried a few times before a
 * {@link CommitLockRequest} waits for it. With 64 processes, further polling would starve the
 * lock's holder of processor time.
 */
public final class CommitLockQueue {
    private static final long SHORTEST_PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(20);
    private static final long LONGEST_PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(160);
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long NEVER = Long.MIN_VALUE;

    private final ReentrantLock turn = new ReentrantLock(true);
    private final AtomicLong turns = new AtomicLong();
    private @Nullable CommitLockRequest request; // guarded by turn
    // count of changes at which a holder was found stalled
    private volatile long stalledAt = NEVER;

    /** Thrown if the lock was not acquired in time. */
    public static final class BusyException extends IOException {
        private static final long serialVersionUID = 1;

        BusyException(String message) {
            super(message);
        }
    }

    /** Turn of a thread of this process; it ends when it is closed. */
    interface Turn extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * Waits for the turn of the calling thread.
     *
     * @throws BusyException if the turn does not come within {@code wait}
     */
    Turn awaitTurn(BoundedWait wait) throws BusyException {
        long before = turns.get();
        if (!wait.until(nanos -> turn.tryLock(nanos, TimeUnit.NANOSECONDS))) {
            throw new BusyException("the local store is busy: " + (turns.get() - before)
                    + " changes of this process ended within " + wait.millis()
                    + " ms, but this change got no turn");
        }
        return () -> {
            turns.incrementAndGet();
            turn.unlock();
        };
    }

    /**
     * Waits for the lock that processes share, and counts the change. The caller must hold the
     * turn.
     *
     * @param wait wait with the caller's deadline
     * @param stallNanos time in nanoseconds after which a holder without progress counts as
     *     stalled; this wait then ends, and later callers do not wait
     * @throws BusyException if the lock is not acquired in time
     */
    FileLock lock(StatePage state, BoundedWait wait, long stallNanos) throws IOException {
        FileLock lock = tryLock(state);
        for (long pause = SHORTEST_PAUSE_NANOS;
                lock == null && pause <= LONGEST_PAUSE_NANOS && !isKnownStalled(state);
                pause *= 2) {
            wait.pause(pause);
            lock = tryLock(state);
        }
        return countChange(state, lock == null ? request(state, wait, stallNanos) : lock);
    }

    private FileLock countChange(StatePage state, FileLock lock) {
        state.add(StatePage.CHANGES, 1);
        stalledAt = NEVER;
        return lock;
    }

    private @Nullable FileLock tryLock(StatePage state) throws IOException {
        CommitLockRequest open = request;
        return open != null && open.isFor(state) ? null : state.tryCommitLock();
    }

    private boolean isKnownStalled(StatePage state) {
        return state.get(StatePage.CHANGES) == stalledAt;
    }

    private FileLock request(StatePage state, BoundedWait wait, long stallNanos)
            throws IOException {
        if (isKnownStalled(state)) {
            throw new BusyException(
                    "another process holds the lock of the local store without progress");
        }
        CommitLockRequest pending = requestFor(state);
        long first = state.get(StatePage.CHANGES);
        LockHolderWatch watch = new LockHolderWatch(first, System.nanoTime(), stallNanos);
        while (true) {
            boolean done = wait.until(nanos -> pending.await(Math.min(nanos, POLL_NANOS)));
            long now = state.get(StatePage.CHANGES);
            watch.observe(now, System.nanoTime());
            boolean stalled = watch.isStalled(wait);
            FileLock lock = done || stalled || wait.isOver() ? pending.take() : null;
            if (lock != null) {
                return lock;
            }
            if (stalled) {
                stalledAt = now;
                throw new BusyException("another process has held the lock of the local store for "
                        + TimeUnit.NANOSECONDS.toMillis(watch.stallNanos())
                        + " ms without progress");
            }
            if (wait.isOver()) {
                throw new BusyException("the local store is busy: other processes began "
                        + (now - first) + " changes within " + wait.millis()
                        + " ms, but this change got no turn");
            }
        }
    }

    private CommitLockRequest requestFor(StatePage state) {
        CommitLockRequest open = request;
        if (open == null || !open.isFor(state) || !open.markWanted()) {
            open = CommitLockRequest.begin(state);
            request = open;
        }
        return open;
    }
}
