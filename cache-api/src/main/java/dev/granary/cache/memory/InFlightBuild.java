package dev.granary.cache.memory;

import dev.granary.cache.build.PendingBuild;

import org.jspecify.annotations.Nullable;

/**
 * A build of one value by one thread, which ends with the value or a failure.
 *
 * <p>{@link SingleFlight} writes the fields directly, because a failed build must end without a
 * call if the stack is exhausted. A waiting thread may therefore miss its wake-up, and checks the
 * fields every 250 ms.
 */
final class InFlightBuild<V> implements PendingBuild {
    private static final long RECHECK_MILLIS = 250;

    volatile @Nullable Thread builder;
    volatile @Nullable V value;
    volatile @Nullable Throwable failure;
    private boolean isAwaited; // guarded by this

    InFlightBuild(Thread builder) {
        this.builder = builder;
    }

    @Override
    public @Nullable Thread builder() {
        return builder;
    }

    /** Returns true once there is a value or a failure. */
    boolean isEnded() {
        return value != null || failure != null;
    }

    /** Waits until there is a value or a failure. */
    synchronized void await() throws InterruptedException {
        while (!isEnded()) {
            isAwaited = true;
            wait(RECHECK_MILLIS);
        }
    }

    void complete(V built) {
        value = built;
        builder = null;
        wake();
    }

    /** Wakes the waiting threads once there is a value or a failure. */
    synchronized void wake() { // no latch: it would cost two objects per build, mostly unused
        if (isAwaited) {
            notifyAll();
        }
    }
}
