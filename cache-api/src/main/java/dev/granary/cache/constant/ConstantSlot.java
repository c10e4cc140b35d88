package dev.granary.cache.constant;

import dev.granary.cache.support.WaitGraph;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;

/**
 * The state of one key: promised by one thread, and at the end completed with a tensor, failed or
 * abandoned. Each user owns the tensor and, while it is cached, the cache; the last owner frees it.
 * Mutable fields without a comment are guarded by the lock of the cache.
 */
final class ConstantSlot<B extends AutoCloseable> implements WaitGraph.Build {
    final ConstantTensorCache.Key<B> key;
    final long bytes;
    // Null once the slot has ended, so that a cached tensor does not retain its thread. An error
    // may end a slot without the lock, by writing the failure and then this.
    volatile @Nullable Thread builder = Thread.currentThread();
    volatile @Nullable Throwable failure;
    volatile @Nullable B buffer; // written under the lock; null until it is completed
    volatile boolean isCached; // written under the lock
    boolean isOpen; // promised, and not counted as ended
    boolean isReserved;
    int owners = 1; // the builder, the threads that wait for it, later users, and the cache
    long lastUse = -1; // by the clock of the cache
    long startNanos;
    long costNanos;
    final List<Listener> listeners = new ArrayList<>();

    /** An action and the hold that it was registered for. */
    record Listener(ConstantHold<?> hold, Runnable action) {}

    ConstantSlot(ConstantTensorCache.Key<B> key, long bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException(
                    "A constant tensor needs a positive size, not " + bytes);
        }
        this.key = key;
        this.bytes = bytes;
    }

    @Override
    public @Nullable Thread builder() {
        return builder;
    }

    /** Returns true if the slot has ended and is not cached: its cache should have removed it. */
    boolean isLeftByError() {
        return builder == null && !isCached;
    }
}
