package dev.granary.gpu.lifetime;

import java.util.function.LongConsumer;

/**
 * A native object of one engine that is released exactly once, by its owner or when the engine
 * closes. A release during a native call takes effect after that call. Thread-safe.
 */
public final class NativeHandle {
    private final EngineLifetime lifetime;
    private final String description;
    private final LongConsumer releaser;
    private volatile long handle; // 0: released; written under the monitor
    private int holds; // guarded by this; running native calls that use it

    /**
     * Takes ownership of a native object. Requires an engine lease, so that closing the engine
     * releases the object.
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
     * Returns the native handle of an object that no other thread releases meanwhile. Requires an
     * engine lease.
     *
     * @throws IllegalStateException if it was released
     */
    public long get() {
        long current = handle;
        if (current == 0) {
            throw closed();
        }
        return current;
    }

    /**
     * A use of the native object, which is not released before the use is closed. It must be closed
     * before the engine lease.
     */
    public final class Hold implements AutoCloseable {
        private final long object;

        private Hold(long object) {
            this.object = object;
        }

        /** Returns the native handle. */
        public long handle() {
            return object;
        }

        @Override
        public void close() {
            endHold(object);
        }
    }

    /**
     * Begins a use of the native object, for one native call or until a launch has ended. Requires
     * an engine lease.
     *
     * @throws IllegalStateException if it was released
     */
    public synchronized Hold hold() {
        Hold hold = new Hold(get()); // may throw, so before the count
        holds++;
        return hold;
    }

    private void endHold(long object) {
        synchronized (this) {
            if (--holds > 0 || handle != 0) {
                return;
            }
        }
        releaser.accept(object); // the owner released it meanwhile
    }

    private IllegalStateException closed() {
        return new IllegalStateException("The " + description + " is closed");
    }

    /** Returns true if the object was released, by its owner or with the engine. */
    public boolean isReleased() {
        return handle == 0;
    }

    /** Releases the object for its owner; it cannot be used afterwards. */
    public void release() {
        try (var _ = lifetime.leaseEvenIfClosed()) {
            lifetime.remove(this);
            releaseNow();
        }
    }

    /**
     * Releases the object for its owner or for the closing engine; if it is held, the last hold
     * does.
     */
    void releaseNow() {
        long object;
        synchronized (this) {
            object = holds > 0 ? 0 : handle;
            handle = 0;
        }
        if (object != 0) {
            releaser.accept(object);
        }
    }
}
