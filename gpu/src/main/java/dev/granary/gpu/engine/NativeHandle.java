package dev.granary.gpu.engine;

import java.util.function.LongConsumer;

/**
 * A native object of one engine, with a count of references. It is released exactly once: with the
 * last reference, or when the engine closes. Thread-safe.
 */
public final class NativeHandle {
    private final EngineLifetime lifetime;
    private final String description;
    private final LongConsumer releaser;
    private volatile long handle; // 0: released; written under the monitor
    private int references = 1; // guarded by this

    /**
     * Takes ownership of a native object, with one reference for the caller. Requires an engine
     * lease, so that closing the engine releases the object.
     *
     * @param description the object's name in messages
     * @param releaser releases the native object of that handle
     */
    public NativeHandle(
            EngineLifetime lifetime, String description, long handle, LongConsumer releaser) {
        this.lifetime = lifetime;
        this.description = description;
        this.handle = handle;
        this.releaser = releaser;
        lifetime.add(this);
    }

    /**
     * Returns the native handle. Requires an engine lease, and a reference that no other thread
     * releases meanwhile.
     *
     * @throws IllegalStateException if it was released
     */
    public long get() {
        long current = handle;
        if (current == 0) {
            throw new IllegalStateException("The " + description + " is closed");
        }
        return current;
    }

    /** Returns true if the object was released, with its last reference or with the engine. */
    public boolean isReleased() {
        return handle == 0;
    }

    /** Adds a reference; returns false if the object was released. */
    public synchronized boolean retain() {
        if (references == 0 || handle == 0) {
            return false;
        }
        references++;
        return true;
    }

    /** Removes a reference, and releases the object with the last one. */
    public void release() {
        synchronized (this) {
            if (--references > 0) {
                return;
            }
        }
        try (var _ = lifetime.leaseEvenIfClosed()) {
            lifetime.remove(this);
            releaseNow();
        }
    }

    /** Releases the object, whatever its references. */
    void releaseNow() {
        long object;
        synchronized (this) {
            object = handle;
            handle = 0;
        }
        if (object != 0) {
            releaser.accept(object);
        }
    }
}
