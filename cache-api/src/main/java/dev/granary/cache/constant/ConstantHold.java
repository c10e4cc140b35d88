package dev.granary.cache.constant;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * One user's hold on a tensor: the tensor stays valid until this is closed, whatever the cache does. Thread-safe.
 *
 * <p>A holder may keep it from one execution to the next and use it without asking the cache again, as long as {@link #isCached()}, or until
 * {@link #onEviction} says that the tensor has left: then the holder lets go when it is done with what it is doing, so that the memory is
 * freed. A hold that is never closed keeps the memory.
 *
 * @param <B> what the back-end keeps a tensor in
 */
public final class ConstantHold<B extends AutoCloseable> implements AutoCloseable {
    private static final VarHandle IS_CLOSED = isClosedHandle(); // an AtomicBoolean would be one more object for each hit

    private final RefCountedTensor<B> tensor;
    private volatile boolean isClosed;
    private volatile boolean hasListened;

    ConstantHold(RefCountedTensor<B> tensor) {
        this.tensor = tensor;
    }

    private static VarHandle isClosedHandle() {
        try {
            return MethodHandles.lookup().findVarHandle(ConstantHold.class, "isClosed", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /**
     * The tensor, to be read only, and not to be closed: it is shared.
     *
     * @throws IllegalStateException if this is closed
     */
    public B buffer() {
        if (isClosed) {
            throw new IllegalStateException("The constant is closed");
        }
        return tensor.buffer();
    }

    /** True while the cache has the tensor. */
    public boolean isCached() {
        return tensor.isCached();
    }

    /**
     * Runs {@code action} once when the tensor leaves the cache, however it does: evicted, removed, flushed, or with its context. Where the
     * cache does not have it (any more), that is at once, in this thread; else in the thread that made it leave, with no lock of the cache
     * held. What the action throws is logged. Nothing is run for a hold that was closed before.
     */
    public void onEviction(Runnable action) {
        if (isClosed) {
            return;
        }
        hasListened = true;
        if (!tensor.listen(this, action)) {
            RefCountedTensor.tell(action);
        } else if (isClosed) {
            tensor.forget(this);
        }
    }

    /** Lets go; the last user of a tensor that is not cached frees it. Closing again does nothing. */
    @Override
    public void close() {
        if (IS_CLOSED.compareAndSet(this, false, true)) {
            try {
                if (hasListened) {
                    tensor.forget(this);
                }
                tensor.release();
            } catch (Throwable e) { // such as a stack that is used up: not let go yet, and may be closed again
                isClosed = false;
                throw e;
            }
        }
    }
}
