package dev.granary.cache.memory;
import dev.granary.cache.build.PendingBuild;

import org.jspecify.annotations.Nullable;

/**
 * One build under way: of one thread, then a value or a failure for ever.
 *
 * <p>The fields are for {@link SingleFlight}, which ends a build that failed without a call, since the stack may be used up. So a thread
 * that waits is not sure to be woken, and looks by itself now and then.
 */
final class InFlightBuild<V> implements PendingBuild {
    private static final long LOOK_MILLIS = 250;

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

    /** True once there is a value or a failure. */
    boolean isEnded() {
        return value != null || failure != null;
    }

    /** Waits until there is a value or a failure. */
    synchronized void await() throws InterruptedException {
        while (!isEnded()) {
            isAwaited = true;
            wait(LOOK_MILLIS);
        }
    }

    void complete(V built) {
        value = built;
        builder = null;
        wake();
    }

    /** Wakes those who wait; there is a value or a failure. */
    synchronized void wake() { // no latch: most builds are awaited by nobody, and each would make two objects more
        if (isAwaited) {
            notifyAll();
        }
    }
}
