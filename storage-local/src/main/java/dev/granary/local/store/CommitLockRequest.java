package dev.granary.local.store;

import dev.granary.local.file.StatePage;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Blocking request for the commit lock in a thread of its own, since Java has no such request with
 * a timeout. The system grants the requests of all processes in order of arrival, and waiting costs
 * nothing. A request cannot be cancelled: if it is no longer wanted, the lock is released as soon
 * as it is granted. Thread-safe.
 */
final class CommitLockRequest {
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final StatePage state;
    private final CountDownLatch done = new CountDownLatch(1);
    private @Nullable FileLock lock; // guarded by this, as are the following fields
    private @Nullable Throwable failure;
    private boolean wanted = true;

    private CommitLockRequest(StatePage state) {
        this.state = state;
    }

    static CommitLockRequest begin(StatePage state) {
        CommitLockRequest request = new CommitLockRequest(state);
        Thread.ofPlatform().daemon().name("granary-local-lock").start(request::run);
        return request;
    }

    /** Returns whether the request is in progress for the lock of this state page. */
    synchronized boolean isFor(StatePage candidate) {
        return state == candidate && done.getCount() > 0;
    }

    /** Marks the lock as wanted; returns false if the request has ended. */
    synchronized boolean markWanted() {
        wanted = true;
        return done.getCount() > 0;
    }

    /**
     * Waits at most {@code nanos} nanoseconds for the end of the request; returns whether it ended.
     */
    boolean await(long nanos) throws InterruptedException {
        return done.await(nanos, TimeUnit.NANOSECONDS);
    }

    /**
     * Returns the lock, which the caller then owns. Returns null if it is not granted yet; the
     * request is then unwanted until {@link #markWanted()}.
     *
     * @throws IOException if the request failed
     */
    synchronized @Nullable FileLock take() throws IOException {
        Throwable thrown = failure;
        if (thrown != null) {
            throw new IOException(
                    "the lock of the local store cannot be acquired: " + thrown, thrown);
        }
        FileLock granted = lock;
        lock = null;
        wanted = false;
        return granted;
    }

    private void run() {
        try {
            FileLock acquired = acquire();
            while (acquired == null && isWanted()) {
                LockSupport.parkNanos(PAUSE_NANOS);
                acquired = acquire();
            }
            accept(acquired);
        } catch (IOException | RuntimeException | Error e) {
            fail(e);
        }
    }

    private @Nullable FileLock acquire() throws IOException {
        try {
            return state.commitLock();
        } catch (OverlappingFileLockException e) {
            return null; // another copy of this class in this process holds it
        }
    }

    private synchronized boolean isWanted() {
        return wanted;
    }

    private synchronized void accept(@Nullable FileLock acquired) throws IOException {
        try {
            if (wanted) {
                lock = acquired;
            } else if (acquired != null) {
                acquired.close();
            }
        } finally {
            done.countDown();
        }
    }

    private synchronized void fail(Throwable cause) {
        failure = cause;
        done.countDown();
    }
}
