package dev.granary.gpu.opencl;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/** A native object of one engine, released exactly once: by its owner, or when the engine closes. Thread-safe. */
final class NativeHandle {
    private final OpenClEngine engine;
    private final String what;
    private final LongConsumer releaser;
    private final AtomicLong handle;

    /**
     * Takes over a native object. Only while the engine is in use, so that its closing sees the object.
     *
     * @param what names it in messages
     */
    NativeHandle(OpenClEngine engine, String what, long handle, LongConsumer releaser) {
        this.engine = engine;
        this.what = what;
        this.handle = new AtomicLong(handle);
        this.releaser = releaser;
        engine.live().add(this);
    }

    OpenClEngine engine() {
        return engine;
    }

    /**
     * The native handle; only while the engine is in use.
     *
     * @throws IllegalStateException if it was released
     */
    long get() {
        long known = handle.get();
        if (known == 0) {
            throw new IllegalStateException("The " + what + " is closed");
        }
        return known;
    }

    boolean isReleased() {
        return handle.get() == 0;
    }

    /** Releases the object for its owner. */
    void release() {
        try (var _ = engine.useEvenIfClosed()) {
            engine.live().remove(this);
            releaseNow();
        }
    }

    /** Releases the object whoever still holds it: the engine is closing. */
    void releaseNow() {
        long last = handle.getAndSet(0);
        if (last != 0) {
            releaser.accept(last);
        }
    }
}
