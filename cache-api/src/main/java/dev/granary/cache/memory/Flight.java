package dev.granary.cache.memory;

import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** One build under way: of one thread, then a value or a failure for ever. */
final class Flight<V> {
    private final CountDownLatch done = new CountDownLatch(1);
    private volatile @Nullable Thread builder;
    private volatile @Nullable V value;
    private volatile @Nullable Throwable failure;

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

    CountDownLatch done() {
        return done;
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
        done.countDown();
    }
}
