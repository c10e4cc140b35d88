package dev.granary.gpu.lifetime;

/**
 * A native object with several owners, released after the last of them or when the engine closes.
 * Thread-safe.
 */
public final class SharedHandle {
    private final NativeHandle handle;
    private int owners = 1; // guarded by this

    /** Creates a shared object with one owner. */
    public SharedHandle(NativeHandle handle) {
        this.handle = handle;
    }

    /** Adds an owner; returns false if the object was released. */
    public synchronized boolean retain() {
        if (owners == 0 || handle.isReleased()) {
            return false;
        }
        owners++;
        return true;
    }

    /** Removes an owner. */
    public void release() {
        synchronized (this) {
            if (--owners > 0) {
                return;
            }
        }
        handle.release();
    }

    /**
     * Returns the native handle. Requires an engine lease, and an owner that does not release it
     * meanwhile.
     *
     * @throws IllegalStateException if it was released
     */
    public long get() {
        return handle.get();
    }
}
