package dev.granary.local.store;

import dev.granary.local.file.StatePage;
import java.io.IOException;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A blocking request for the commit lock, made by a thread of its own, since Java bounds no such request in time. The system wakes the
 * requests of all processes in the order in which they came, and they cost nothing meanwhile. A request cannot be taken back: when nobody
 * wants the lock any more, it is let go as soon as it comes. Thread-safe.
 */
final class CommitLockRequest {
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final StatePage state;
    private final CountDownLatch done = new CountDownLatch(1);
    private @Nullable FileLock lock; // guarded by this, as all that follows
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

    /** True where it is under way, for the lock of that state. */
    synchronized boolean isFor(StatePage asked) {
        return state == asked && done.getCount() > 0;
    }

    /** Has the lock wait for the caller when it comes; false where the request is over. */
    synchronized boolean want() {
        wanted = true;
        return done.getCount() > 0;
    }

    /** Waits for the end of the request; returns whether it came. */
    boolean await(long nanos) throws InterruptedException {
        return done.await(nanos, TimeUnit.NANOSECONDS);
    }

    /**
     * The lock, which is the caller's from now on; null where it has not come, and then nobody wants it before {@link #want()}.
     *
     * @throws IOException if the request failed
     */
    synchronized @Nullable FileLock take() throws IOException {
        Throwable thrown = failure;
        if (thrown != null) {
            throw new IOException("the lock of the local store cannot be had: " + thrown, thrown);
        }
        FileLock taken = lock;
        lock = null;
        wanted = false;
        return taken;
    }

    private void run() {
        try {
            FileLock got = ask();
            while (got == null && isWanted()) {
                LockSupport.parkNanos(PAUSE_NANOS);
                got = ask();
            }
            accept(got);
        } catch (IOException | RuntimeException | Error e) {
            fail(e);
        }
    }

    private @Nullable FileLock ask() throws IOException {
        try {
            return state.commitLock();
        } catch (OverlappingFileLockException e) {
            return null; // another copy of this class in this process has it
        }
    }

    private synchronized boolean isWanted() {
        return wanted;
    }

    private synchronized void accept(@Nullable FileLock got) throws IOException {
        try {
            if (wanted) {
                lock = got;
            } else if (got != null) {
                got.close();
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
