package dev.granary.cache.constant;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A reference-counted tensor, owned by each user with a hold and, while it is cached, by the cache.
 * The last owner frees it.
 */
final class ConstantTensor<B extends AutoCloseable> {
    private final B buffer;
    private final AtomicInteger owners;
    private volatile boolean isCached;
    private @Nullable List<Listener> listeners; // guarded by this; null if there are none

    /** An action and the hold that it was registered for. */
    private record Listener(ConstantHold<?> constant, Runnable action) {}

    /** Takes ownership of {@code buffer}, with one owner so far. */
    ConstantTensor(B buffer) {
        this.buffer = buffer;
        this.owners = new AtomicInteger(1);
    }

    /**
     * Sets the owners before the tensor is published.
     *
     * @param users the number of users that will call {@link #countedHold}
     */
    void share(int users, boolean cached) {
        isCached = cached;
        owners.set(users + (cached ? 1 : 0));
    }

    B buffer() {
        return buffer;
    }

    boolean isCached() {
        return isCached;
    }

    /** Returns the hold of a user that is already counted. */
    ConstantHold<B> countedHold() {
        return new ConstantHold<>(this);
    }

    /**
     * Returns the hold of an additional user, or null if the tensor has left the cache and was
     * freed.
     */
    @Nullable
    ConstantHold<B> open() {
        ConstantHold<B> constant = new ConstantHold<>(this); // first, because it may fail
        while (true) {
            int count = owners.get();
            if (count == 0) {
                return null;
            }
            if (owners.compareAndSet(count, count + 1)) {
                return constant;
            }
        }
    }

    /** Releases one owner. */
    void release() {
        if (owners.decrementAndGet() == 0) {
            free(buffer);
        }
    }

    /** Frees memory. Failures are logged; they do not concern the caller. */
    static void free(AutoCloseable memory) {
        try {
            memory.close();
        } catch (Throwable e) {
            log("The memory of a constant tensor could not be freed", e);
        }
    }

    /** Marks the tensor as not cached. {@link #notifyAndRelease()} notifies its users. */
    void uncache() {
        isCached = false;
    }

    /**
     * Notifies the users of tensors that have left the cache, and releases the cache's ownership.
     * Must be called without a lock, because it runs users' code.
     */
    static void notifyAndRelease(List<ConstantTensor<?>> removed) {
        for (ConstantTensor<?> tensor : removed) {
            tensor.notifyAndRelease();
        }
    }

    /** Does so for one. */
    void notifyAndRelease() {
        List<Listener> pending;
        synchronized (this) {
            pending = listeners == null ? List.of() : listeners;
            listeners = null;
        }
        pending.forEach(listener -> runCallback(listener.action()));
        release();
    }

    /** Runs a user's callback. Failures are logged; they do not concern the caller. */
    static void runCallback(Runnable action) {
        try {
            action.run();
        } catch (Throwable e) {
            log("The callback of an evicted constant tensor failed", e);
        }
    }

    private static void log(String message, Throwable failure) {
        if (failure instanceof InterruptedException) {
            Thread.currentThread().interrupt();
        }
        System.getLogger("dev.granary").log(System.Logger.Level.WARNING, message, failure);
    }

    /**
     * Adds a listener that {@link #notifyAndRelease()} runs.
     *
     * @return false if the tensor is not cached, so that the listener would never run
     */
    synchronized boolean addListener(ConstantHold<?> constant, Runnable action) {
        if (!isCached) {
            return false;
        }
        List<Listener> current = listeners == null ? new ArrayList<>(1) : listeners;
        current.add(new Listener(constant, action));
        listeners = current;
        return true;
    }

    /** Removes the listener of {@code constant}. */
    synchronized void removeListener(ConstantHold<?> constant) {
        if (listeners != null) {
            listeners.removeIf(listener -> listener.constant() == constant);
        }
    }
}
