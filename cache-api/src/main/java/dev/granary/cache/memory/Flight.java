package dev.granary.cache.memory;

import org.jspecify.annotations.Nullable;

/** One build under way: of one thread, then a value or a failure for ever. */
final class Flight<V> {
    private volatile @Nullable Thread builder;
    private volatile @Nullable V value;
    private volatile @Nullable Throwable failure;
    private boolean isDone; // guarded by this
    private boolean isAwaited; // guarded by this

    Flight(Thread builder) {
        this.builder = builder;
    }

    /** Who builds; null once there is a value or a failure. */
    @Nullable Thread builder() {
        return builder;
    }

    @Nullable V value() {
        return value;
    }

    @Nullable Throwable failure() {
        return failure;
    }

    /** Waits until there is a value or a failure. */
    synchronized void await() throws InterruptedException {
        while (!isDone) {
            isAwaited = true;
            wait();
        }
    }

    void complete(V built) {
        value = built;
        end();
    }

    void fail(Throwable cause) {
        failure = cause;
        end();
    }

    private void end() {
        builder = null;
        synchronized (this) { // no latch: most builds are awaited by nobody, and each would make two objects more
            isDone = true;
            if (isAwaited) {
                notifyAll();
            }
        }
    }
}
