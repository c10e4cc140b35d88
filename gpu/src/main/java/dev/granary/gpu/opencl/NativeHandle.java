package dev.granary.gpu.opencl;

import java.util.function.LongConsumer;

/**
 * A native object of one engine, released exactly once: by its owner, or when the engine closes. While a native call uses it, it is held,
 * and its owner's release takes effect after that call. Thread-safe.
 */
final class NativeHandle {
    private final OpenClEngine engine;
    private final String what;
    private final LongConsumer releaser;
    private volatile long handle; // 0: released. Written under the monitor
    private int holds; // guarded by this: native calls under way that use it

    /**
     * Takes over a native object. Only while the engine is in use, so that its closing sees the object.
     *
     * @param what names it in messages
     */
    NativeHandle(OpenClEngine engine, String what, long handle, LongConsumer releaser) {
        this.engine = engine;
        this.what = what;
        this.handle = handle;
        this.releaser = releaser;
        engine.live().add(this);
    }

    OpenClEngine engine() {
        return engine;
    }

    /**
     * The native handle, for an object that no other thread releases meanwhile; only while the engine is in use.
     *
     * @throws IllegalStateException if it was released
     */
    long get() {
        long known = handle;
        if (known == 0) {
            throw closed();
        }
        return known;
    }

    /** The native object stays until this is closed, whoever releases it meanwhile. Ends before the engine's use does. */
    final class Hold implements AutoCloseable {
        private final long held;

        private Hold(long held) {
            this.held = held;
        }

        long handle() {
            return held;
        }

        @Override
        public void close() {
            letGo(held);
        }
    }

    /**
     * Keeps the native object for one native call; only while the engine is in use.
     *
     * @throws IllegalStateException if it was released
     */
    synchronized Hold hold() {
        Hold hold = new Hold(get()); // before it counts, since this may fail
        holds++;
        return hold;
    }

    private void letGo(long held) {
        synchronized (this) {
            if (--holds > 0 || handle != 0) {
                return;
            }
        }
        releaser.accept(held); // its owner has released it meanwhile
    }

    private IllegalStateException closed() {
        return new IllegalStateException("The " + what + " is closed");
    }

    boolean isReleased() {
        return handle == 0;
    }

    /** Releases the object for its owner: nobody can use it from now on. */
    void release() {
        try (var _ = engine.useEvenIfClosed()) {
            engine.live().remove(this);
            releaseNow();
        }
    }

    /** Releases the object whoever still has it: the engine is closing, or its owner wants it. */
    void releaseNow() {
        long last;
        synchronized (this) {
            last = holds > 0 ? 0 : handle; // where it is held, whoever holds it last releases it
            handle = 0;
        }
        if (last != 0) {
            releaser.accept(last);
        }
    }
}
