package dev.granary.cache.memory;

import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** The place of one key: under construction by one thread, then a value or a failure for ever. */
final class Slot<V> {
    private final CountDownLatch done = new CountDownLatch(1);
    private volatile @Nullable Thread builder; // only while it builds: a cached value must not keep its thread alive
    private volatile @Nullable V value;
    private volatile @Nullable Throwable failure;
    private long stamp; // racy by design, see RecencyClock

    Slot(Thread builder) {
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

    void complete(V built, RecencyClock clock) {
        stamp = clock.advance();
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

    /** Marks the slot as the most recently used; writes nothing where it is already. */
    void touch(RecencyClock clock) {
        if (stamp != clock.now()) {
            stamp = clock.advance();
        }
    }

    long stamp() {
        return stamp;
    }
}
