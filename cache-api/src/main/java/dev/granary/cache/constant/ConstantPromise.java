package dev.granary.cache.constant;

import dev.granary.cache.build.StackReserve;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.Objects;

/**
 * The promise to make one tensor, given to one caller; others wait for it. It ends with the first of {@link #fulfil}, {@link #fail} and
 * {@link #close}. Thread-safe: another thread than the one that got it may end it, but the one that got it must not ask for the tensor itself
 * meanwhile.
 *
 * <p>A thread that has a promise and waits for another tensor counts as making the first one meanwhile: whoever waits for it is part of that
 * wait, and a circle of such waits is an error.
 *
 * <p>A promise that is closed unfulfilled, or dropped and found by the garbage collector, is given up: one of those who wait makes the tensor
 * instead.
 *
 * @param <B> what the back-end keeps a tensor in
 */
public final class ConstantPromise<B extends AutoCloseable> implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();

    private final ConstantTensorCache cache;
    private final ConstantSlot<B> slot;
    private final Cleaner.Cleanable givingUp;

    ConstantPromise(ConstantTensorCache cache, ConstantSlot<B> slot) {
        this.cache = cache;
        this.slot = slot;
        this.givingUp = CLEANER.register(this, () -> cache.endNow(slot, null));
    }

    /**
     * Hands the tensor over: to the cache, if it keeps it, and to all who wait. Its memory belongs to them from now on.
     *
     * @return the caller's hold on the tensor, to be closed
     * @throws IllegalStateException if the promise has ended; the tensor stays the caller's
     */
    public ConstantHold<B> fulfil(B buffer) {
        try {
            return cache.fulfil(slot, Objects.requireNonNull(buffer, "A promised constant is null"));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Tells all who wait that the tensor cannot be made, and why. Does nothing where the promise has ended. */
    public void fail(Throwable cause) {
        try {
            cache.end(slot, Objects.requireNonNull(cause, "A failure needs its cause"));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Gives the promise up, unless it has ended. */
    @Override
    public void close() {
        StackReserve.requireLittle(); // it is cleaned once: not halfway
        givingUp.clean();
    }
}
