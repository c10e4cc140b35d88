package dev.granary.cache.constant;

import dev.granary.cache.support.WaitGraph;

import org.jspecify.annotations.Nullable;

import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * A cache of the constant tensors of one device, within a memory budget. Thread-safe; created by
 * {@link ConstantTensorCaches}, which sets the budget.
 *
 * <p>Of several callers that miss a tensor, one computes it and the others wait. The bytes of a
 * tensor being computed are reserved, so cached and promised tensors together never exceed the
 * budget. An evicted tensor stays valid until its last hold is closed; memory held only by users is
 * not counted.
 *
 * <p>No wait is unbounded. It ends when the promise is abandoned ({@link ConstantPromise}), on
 * interruption, and after 60 seconds. A thread that stops waiting computes the tensor for itself,
 * and that tensor is not cached.
 */
public final class ConstantTensorCache {
    /** Ends promises that are forgotten. */
    static final Cleaner CLEANER = Cleaner.create();

    // The interval at which a waiting thread checks by itself: a stack overflow may prevent its
    // notification.
    private static final long RECHECK_NANOS = 250_000_000;

    private final WaitGraph waits = WaitGraph.PROCESS;
    private final LongSupplier nanos;
    private final Duration maxWait;

    // The only foreign code under it is the equality of keys. A monitor, because the JVM releases
    // it even after a stack overflow.
    private final Object lock = new Object();
    private final ConcurrentHashMap<Key<?>, ConstantSlot<?>> slots = new ConcurrentHashMap<>();
    private volatile Limit limit; // written under lock, like all below
    private long clock; // of uses
    private long cachedBytes;
    private long promisedBytes;
    private long tensors;
    private long made;
    private long reused;
    private long notKept;
    private long evicted;
    private long failed;

    ConstantTensorCache(Limit limit, LongSupplier nanos, Duration maxWait) {
        this.limit = limit;
        this.nanos = nanos;
        this.maxWait = maxWait;
    }

    /**
     * A factory of a tensor that is not cached.
     *
     * @param <B> the back-end's type of a tensor
     * @param <E> the exception that it may throw
     */
    @FunctionalInterface
    public interface Factory<B, E extends Exception> {
        /**
         * Creates the tensor, not null. The cache takes ownership of its memory and closes it after
         * its last user.
         */
        B make() throws E;
    }

    /**
     * The outcome of {@link #getOrAdd}.
     *
     * @param <B> the back-end's type of a tensor
     */
    public sealed interface Lookup<B extends AutoCloseable> {
        /**
         * The tensor was cached, or another thread has just completed it.
         *
         * @param constant the caller's hold on it, to be closed
         */
        record Hit<B extends AutoCloseable>(ConstantHold<B> constant) implements Lookup<B> {}

        /**
         * The caller has to compute the tensor.
         *
         * @param promise the promise to be fulfilled, failed or closed, since others may wait for
         *     it
         */
        record Miss<B extends AutoCloseable>(ConstantPromise<B> promise) implements Lookup<B> {}

        /**
         * Another thread, for which this one waited, failed to compute the tensor. Nothing was
         * cached: the next caller computes it.
         *
         * @param cause the failure reported by the other thread
         */
        record Failed<B extends AutoCloseable>(Throwable cause) implements Lookup<B> {}
    }

    /**
     * The counters and the content of a constant tensor cache. The counters only grow.
     *
     * @param made tensors computed
     * @param reused lookups that found a tensor
     * @param notKept tensors computed but not cached, because of the budget or because they were
     *     removed before their completion
     * @param evicted tensors evicted for others
     * @param failed promises that ended without a tensor
     * @param tensors the number of cached tensors
     * @param bytes the bytes of cached tensors
     * @param promisedBytes the bytes of the budget reserved for tensors being computed
     */
    public record Statistics(
            long made,
            long reused,
            long notKept,
            long evicted,
            long failed,
            long tensors,
            long bytes,
            long promisedBytes) {
        /** Statistics at zero. */
        public static final Statistics NOTHING = new Statistics(0, 0, 0, 0, 0, 0, 0, 0);

        /** Returns the sum of both. */
        public Statistics plus(Statistics other) {
            return new Statistics(
                    made + other.made,
                    reused + other.reused,
                    notKept + other.notKept,
                    evicted + other.evicted,
                    failed + other.failed,
                    tensors + other.tensors,
                    bytes + other.bytes,
                    promisedBytes + other.promisedBytes);
        }
    }

    /**
     * Returns the tensor from the cache, from another thread that computes it, or from
     * {@code factory}.
     *
     * @param bytes its size in bytes
     * @return the caller's hold on it, to be closed
     * @throws E if the factory threw it, in this thread or in the one that computed the tensor
     * @throws NullPointerException if the factory returned null
     * @throws IllegalStateException if computing the tensor needs the tensor itself, directly or
     *     through other threads
     * @throws IllegalArgumentException if {@code bytes} is not positive, or differs from the size
     *     of the cached or promised tensor with this key
     */
    public <B extends AutoCloseable, E extends Exception> ConstantHold<B> get(
            Key<B> key, long bytes, Factory<? extends B, E> factory) throws E {
        ConstantSlot<B> own = new ConstantSlot<>(key, bytes);
        B buffer = null;
        try {
            Lookup<B> found = lookup(own);
            if (found instanceof Lookup.Hit<B> hit) {
                return hit.constant();
            }
            if (found instanceof Lookup.Failed<B> other) {
                throw WaitGraph.<RuntimeException>unchecked(other.cause());
            }
            buffer = Objects.requireNonNull(
                    factory.make(), "The factory of a constant returned null");
            return fulfil(own, buffer);
        } catch (Throwable e) {
            // Two writes and no call, which might fail as well: the promise has ended.
            own.failure = e;
            own.builder = null;
            discard(own, buffer);
            throw e;
        }
    }

    /**
     * Looks up a tensor and returns a promise if it is absent. Waits while another thread computes
     * it.
     *
     * <p>A promise is shared if the tensor may be cached. If the budget is exhausted, too small or
     * zero, the promise is private to the caller, and others get their own. With
     * {@link ConstantPolicy#COST}, this is known only after the computation.
     *
     * @param bytes its size in bytes, which counts against the budget from now on
     * @throws IllegalStateException if this thread itself has promised that tensor, or if the
     *     thread that computes it waits for a tensor promised by this one
     * @throws IllegalArgumentException if {@code bytes} is not positive, or differs from the size
     *     of the cached or promised tensor with this key
     */
    public <B extends AutoCloseable> Lookup<B> getOrAdd(Key<B> key, long bytes) {
        ConstantSlot<B> own = new ConstantSlot<>(key, bytes);
        try {
            Lookup<B> found = lookup(own);
            return found == null ? new Lookup.Miss<>(new ConstantPromise<>(this, own)) : found;
        } catch (Throwable e) {
            own.failure = e;
            own.builder = null;
            discard(own, null);
            throw e;
        }
    }

    /**
     * Ends a promise after an error, and frees its tensor or its hold. If another error prevents
     * the end, the next lookup of the key makes up for it, and waiting threads look by themselves.
     */
    private <B extends AutoCloseable> void discard(ConstantSlot<B> own, @Nullable B buffer) {
        try {
            end(own, own.failure);
            if (own.buffer != null) {
                release(own);
            } else if (buffer != null) {
                free(buffer);
            }
        } catch (Throwable _) {
            // such as another stack overflow: the caller gets the first
        }
    }

    /**
     * Looks up the tensor of a new slot, and waits while another thread computes it.
     *
     * @return null if the caller has to compute the tensor for {@code own}
     */
    private <B extends AutoCloseable> @Nullable Lookup<B> lookup(ConstantSlot<B> own) {
        return changing(due -> {
            while (true) {
                ConstantSlot<B> slot = slot(own.key);
                if (slot == null) {
                    promise(own, due);
                    return null;
                }
                if (slot.isLeftByError()) {
                    end(slot, slot.failure);
                    continue;
                }
                requireSame(slot, own);
                // allocated before it counts, because that may fail
                Lookup.Hit<B> hit = new Lookup.Hit<>(new ConstantHold<>(this, slot));
                if (slot.isCached) {
                    slot.lastUse = ++clock;
                    slot.owners++;
                } else if (!await(slot)) {
                    open(own); // private: it is not in the map
                    return null;
                }
                if (slot.buffer != null) {
                    reused++;
                    return hit;
                }
                Throwable failure = slot.failure;
                if (failure != null) {
                    return new Lookup.Failed<>(failure);
                }
            }
        });
    }

    /**
     * Returns the slot of a key, cached or promised. A slot is stored under its own key, whose type
     * parameter is the slot's.
     */
    @SuppressWarnings("unchecked")
    private <B extends AutoCloseable> @Nullable ConstantSlot<B> slot(Key<B> key) {
        return (ConstantSlot<B>) slots.get(key);
    }

    private static void requireSame(ConstantSlot<?> slot, ConstantSlot<?> own) {
        if (slot.builder == Thread.currentThread()) {
            throw new IllegalStateException(
                    "Computing this constant needs the constant itself: " + slot.key);
        }
        if (slot.bytes != own.bytes) {
            throw new IllegalArgumentException("The constant " + slot.key.key() + " has "
                    + slot.bytes + " bytes, but the lookup specified " + own.bytes
                    + " bytes; tensors of different sizes need different keys");
        }
    }

    /**
     * Waits for another thread's tensor, unless that thread waits for this one, and owns it from
     * the beginning of the wait. Requires the lock, which is free during the wait.
     *
     * @return false after the maximum wait, or if this thread was interrupted, which keeps its
     *     interrupt status
     */
    private boolean await(ConstantSlot<?> slot) {
        slot.owners++;
        try {
            waits.enter(slot);
            long end = System.nanoTime() + maxWait.toNanos();
            while (slot.builder != null) {
                long left = end - System.nanoTime();
                if (left <= 0 || Thread.currentThread().isInterrupted()) {
                    return false;
                }
                TimeUnit.NANOSECONDS.timedWait(lock, Math.min(left, RECHECK_NANOS));
            }
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return slot.builder == null;
        } finally {
            if (slot.builder != null) {
                slot.owners--;
            }
            waits.leave();
        }
    }

    /** Begins a promise, shared if the tensor may be cached. Requires the lock. */
    private void promise(ConstantSlot<?> own, List<Runnable> due) {
        open(own);
        if (own.bytes > limit.bytes()) {
            return;
        }
        if (limit.policy() == ConstantPolicy.COST && shortfall(own.bytes) > 0) {
            slots.put(own.key, own); // nothing is reserved: the cost is known only at the end
        } else if (ensureCapacity(own, due)) {
            slots.put(own.key, own); // first, because it may fail
            own.isReserved = true;
            promisedBytes += own.bytes;
        }
    }

    private void open(ConstantSlot<?> own) {
        own.startNanos = nanos.getAsLong();
        own.isOpen = true;
    }

    /**
     * Ends a promise with its tensor, which is cached if there is room.
     *
     * @throws IllegalStateException if the promise has ended
     */
    <B extends AutoCloseable> ConstantHold<B> fulfil(ConstantSlot<B> slot, B buffer) {
        long now = nanos.getAsLong();
        ConstantHold<B> constant = new ConstantHold<>(this, slot); // allocated before any change
        changing(due -> {
            if (!slot.isOpen) {
                throw new IllegalStateException(
                        "The promise of this constant has already ended: " + slot.key);
            }
            slot.costNanos = Math.max(0, now - slot.startNanos);
            boolean isCached =
                    slots.get(slot.key) == slot && (slot.isReserved || ensureCapacity(slot, due));
            if (!isCached) {
                slots.remove(slot.key, slot);
            }
            lock.notifyAll(); // the threads run after this; a call after the writes might fail
            // only writes from here on, so that no error comes between them
            slot.lastUse = ++clock;
            slot.buffer = buffer;
            slot.isCached = isCached;
            slot.builder = null;
            slot.isOpen = false;
            made++;
            if (slot.isReserved) {
                slot.isReserved = false;
                promisedBytes -= slot.bytes;
            }
            if (isCached) {
                slot.owners++;
                cachedBytes += slot.bytes;
                tensors++;
            } else {
                notKept++;
            }
            return isCached;
        });
        return constant;
    }

    /** Ends a promise without a tensor, if it has not ended. */
    void end(ConstantSlot<?> slot, @Nullable Throwable cause) {
        synchronized (lock) {
            if (slot.isOpen) {
                remove(slot, new ArrayList<>()); // there is no tensor to remove
                lock.notifyAll();
                slot.failure = cause;
                slot.builder = null;
                slot.isOpen = false;
                failed++;
            } else if (!slot.isCached) {
                slots.remove(slot.key, slot);
            }
        }
    }

    /** Removes a slot and its bytes. Requires the lock. */
    private void remove(ConstantSlot<?> slot, List<Runnable> due) {
        if (slot.isCached) {
            due.add(() -> notifyAndRelease(slot)); // first, because it allocates
            slot.isCached = false;
            cachedBytes -= slot.bytes;
            tensors--;
        } else if (slot.isReserved) {
            slot.isReserved = false;
            promisedBytes -= slot.bytes;
        }
        slots.remove(slot.key, slot);
    }

    private long shortfall(long bytes) {
        return bytes - (limit.bytes() - cachedBytes - promisedBytes);
    }

    private boolean ensureCapacity(ConstantSlot<?> own, List<Runnable> due) {
        if (shortfall(own.bytes) <= 0) {
            return true;
        }
        List<ConstantSlot<?>> cached = new ArrayList<>();
        for (ConstantSlot<?> slot : slots.values()) {
            if (slot.isLeftByError()) {
                end(slot, slot.failure); // it may have bytes reserved
            } else if (slot.isCached) {
                cached.add(slot);
            }
        }
        List<ConstantSlot<?>> victims =
                limit.policy().select(cached, shortfall(own.bytes), own.costNanos);
        if (victims == null) {
            return false;
        }
        for (ConstantSlot<?> victim : victims) {
            remove(victim, due);
            evicted++;
        }
        return true;
    }

    /**
     * Removes a tensor. Its holds stay valid. A tensor being computed is passed to the waiting
     * threads but not cached.
     *
     * @return true if it was cached or promised
     */
    public boolean removeIfExist(Key<?> key) {
        return changing(due -> {
            ConstantSlot<?> slot = slots.get(key);
            if (slot != null) {
                remove(slot, due);
            }
            return slot != null;
        });
    }

    /** Removes the cached and promised tensors of a context that can no longer be used. */
    public void removeContext(Object context) {
        changing(due -> {
            for (ConstantSlot<?> slot : slots.values()) {
                if (slot.key.context().equals(context)) {
                    remove(slot, due);
                }
            }
            return true;
        });
    }

    /** Runs a change with the lock; then what is due without it, for the users of tensors. */
    private <T extends @Nullable Object> T changing(Function<List<Runnable>, T> change) {
        List<Runnable> due = new ArrayList<>();
        try {
            synchronized (lock) {
                return change.apply(due);
            }
        } finally {
            due.forEach(Runnable::run);
        }
    }

    /**
     * Tells the users of a tensor that it has left the cache, and releases the cache's ownership.
     * Runs users' code, so it is called without a lock.
     */
    private void notifyAndRelease(ConstantSlot<?> slot) {
        List<ConstantSlot.Listener> pending;
        synchronized (lock) {
            pending = List.copyOf(slot.listeners);
            slot.listeners.clear();
        }
        pending.forEach(listener -> runCallback(listener.action()));
        release(slot);
    }

    /** Registers an action of a hold, or runs it at once if the tensor is not cached. */
    void addListener(ConstantSlot<?> slot, ConstantHold<?> hold, Runnable action) {
        synchronized (lock) {
            if (hold.isClosed) {
                return;
            }
            if (slot.isCached) {
                slot.listeners.add(new ConstantSlot.Listener(hold, action));
                return;
            }
        }
        runCallback(action);
    }

    /** Closes a hold, with its actions. */
    void close(ConstantSlot<?> slot, ConstantHold<?> hold) {
        synchronized (lock) {
            if (hold.isClosed) {
                return;
            }
            hold.isClosed = true;
            slot.listeners.removeIf(listener -> listener.hold() == hold);
            if (--slot.owners > 0) {
                return;
            }
        }
        free(Objects.requireNonNull(slot.buffer));
    }

    /** Releases one owner of a tensor; the last one frees it. */
    private void release(ConstantSlot<?> slot) {
        synchronized (lock) {
            if (--slot.owners > 0) {
                return;
            }
        }
        free(Objects.requireNonNull(slot.buffer));
    }

    private static void free(AutoCloseable memory) {
        run(memory, "The memory of a constant tensor could not be freed");
    }

    private static void runCallback(Runnable action) {
        run(action::run, "The callback of an evicted constant tensor failed");
    }

    /** Runs code of a user. A failure is logged, since it does not concern the caller. */
    private static void run(AutoCloseable code, String failure) {
        try {
            code.close();
        } catch (Throwable e) {
            if (e instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
            System.getLogger("dev.granary").log(System.Logger.Level.WARNING, failure, e);
        }
    }

    /**
     * Changes the limit. A lower limit flushes the cache, and so does the first one after no limit.
     *
     * @param due receives what to run without a lock, even if this fails
     */
    void change(Limit newLimit, List<Runnable> due) {
        synchronized (lock) {
            boolean isLower = newLimit.megabytes() < limit.megabytes();
            limit = newLimit;
            if (isLower) {
                for (ConstantSlot<?> slot : slots.values()) {
                    remove(slot, due);
                }
            }
        }
    }

    /** Returns the budget and its policy. */
    public Limit limit() {
        return limit;
    }

    /** Returns the counters and the content at one moment. */
    public Statistics statistics() {
        synchronized (lock) {
            return new Statistics(
                    made, reused, notKept, evicted, failed, tensors, cachedBytes, promisedBytes);
        }
    }

    /** Returns true if the tensor is cached; does not count as a use. */
    boolean isCached(Key<?> key) {
        ConstantSlot<?> slot = slots.get(key);
        return slot != null && slot.isCached;
    }

    /** Returns the number of threads that wait for a tensor being computed. */
    int waiting(Key<?> key) {
        synchronized (lock) {
            ConstantSlot<?> slot = slots.get(key);
            return slot == null || slot.builder == null ? 0 : slot.owners - 1;
        }
    }

    /**
     * The memory budget of one device, and the policy when it is exhausted.
     *
     * @param megabytes the budget in units of 1,048,576 bytes; 0 caches nothing, {@link #UNLIMITED}
     *     everything
     * @param policy the treatment of a new tensor when the budget is exhausted
     */
    public record Limit(long megabytes, ConstantPolicy policy) {
        /** A budget that is never exhausted. */
        public static final long UNLIMITED = Long.MAX_VALUE;

        /** The default limit: unlimited, with {@link ConstantPolicy#NO_EVICT}. */
        public static final Limit DEFAULT = new Limit(UNLIMITED, ConstantPolicy.NO_EVICT);

        private static final int MEGABYTE_BITS = 20;

        /**
         * Checks the budget.
         *
         * @throws IllegalArgumentException if it is negative
         */
        public Limit {
            if (megabytes < 0) {
                throw new IllegalArgumentException(
                        "The capacity of the constant tensor cache must be 0 MB or more, not "
                                + megabytes);
            }
        }

        /** Returns the limit with this budget, and {@link ConstantPolicy#NO_EVICT}. */
        public static Limit of(long megabytes) {
            return new Limit(megabytes, ConstantPolicy.NO_EVICT);
        }

        /** Returns the budget in bytes, at most {@code Long.MAX_VALUE}. */
        public long bytes() {
            return megabytes > Long.MAX_VALUE >> MEGABYTE_BITS
                    ? Long.MAX_VALUE
                    : megabytes << MEGABYTE_BITS;
        }
    }

    /**
     * The key of one tensor. Keys are equal if all four parts are equal by {@code equals}, not only
     * by hash. Immutable if its parts are; they must not change while the tensor is cached.
     *
     * @param <B> the back-end's type of a tensor
     * @param type the class of that type
     * @param backend the id of the back-end; equal keys of two back-ends denote two tensors
     * @param context the context in which the tensor can be used; tensors are never shared between
     *     contexts, even on one device
     * @param key the back-end's own key: the complete input of the computation
     */
    public record Key<B extends AutoCloseable>(
            Class<B> type, String backend, Object context, Object key) {}
}
