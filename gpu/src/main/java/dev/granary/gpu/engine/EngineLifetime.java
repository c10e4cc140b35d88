package dev.granary.gpu.engine;

import java.util.LinkedHashSet;
import java.util.SequencedSet;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * The time in which an engine's native objects may be used. Leases extend it: the objects are
 * released only after all leases are closed. Thread-safe.
 */
public final class EngineLifetime {
    private final String device;
    private final SequencedSet<NativeHandle> handles = new LinkedHashSet<>(); // guarded by itself
    // read: in use; write: closing
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private final Lease readLease = lock.readLock()::unlock;
    private boolean isClosed; // guarded by lock

    /** A use of the native objects, which are released only after all leases are closed. */
    public interface Lease extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * Creates the lifetime of an open engine.
     *
     * @param device the name of the engine's device in messages
     */
    public EngineLifetime(String device) {
        this.device = device;
    }

    /** Returns the name of the engine's device. */
    String device() {
        return device;
    }

    /**
     * Starts a use of the engine's native objects.
     *
     * @throws IllegalStateException if the engine is closed
     */
    public Lease lease() {
        Lease started = leaseEvenIfClosed();
        if (isClosed) {
            started.close();
            throw new IllegalStateException("The engine on " + device + " is closed");
        }
        return started;
    }

    /** Starts a use without a check whether the engine is closed. */
    public Lease leaseEvenIfClosed() {
        lock.readLock().lock();
        return readLease;
    }

    /**
     * Throws if the engine is closed.
     *
     * @throws IllegalStateException if it is
     */
    public void checkOpen() {
        lease().close();
    }

    /** Runs a short action while the engine cannot close; returns false if it is closed. */
    boolean ifOpen(Runnable action) {
        try (var _ = leaseEvenIfClosed()) {
            if (isClosed) {
                return false;
            }
            action.run();
            return true;
        }
    }

    /** Refuses all later leases; returns false if they were refused already. */
    public boolean refuseLeases() {
        lock.writeLock().lock();
        try {
            boolean isFirst = !isClosed;
            isClosed = true;
            return isFirst;
        } finally {
            lock.writeLock().unlock();
        }
    }

    /**
     * Waits for the running uses, and releases the native objects that their owners have not
     * released, the newest first, then the engine's own. So an object is released before those that
     * it was made from.
     *
     * @throws RuntimeException the first failure of a release, after all others were released too
     */
    public void releaseAll(Runnable releaseEngine) {
        lock.writeLock().lock();
        try (Closer releases = new Closer()) {
            releases.add(releaseEngine);
            synchronized (handles) {
                handles.forEach(handle -> releases.add(handle::releaseNow));
                handles.clear();
            }
        } finally {
            lock.writeLock().unlock();
        }
    }

    void add(NativeHandle handle) {
        synchronized (handles) {
            handles.add(handle);
        }
    }

    void remove(NativeHandle handle) {
        synchronized (handles) {
            handles.remove(handle);
        }
    }
}
