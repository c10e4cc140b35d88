package dev.granary.cache.constant;

import dev.granary.cache.build.BuildCycleDetector;
import dev.granary.cache.build.StackReserve;
import dev.granary.cache.constant.config.ConstantLimit;
import dev.granary.cache.constant.config.ConstantPolicy;

import org.jspecify.annotations.Nullable;

import java.lang.invoke.MethodHandles;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
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
 * interruption, and after the maximum wait. A thread that stops waiting computes the tensor for
 * itself, and that tensor is not cached.
 */
public final class ConstantTensorCache {
    /**
     * The maximum time to wait for another caller's tensor: 60 seconds. After that the caller
     * computes it too.
     */
    public static final Duration MAX_WAIT = Duration.ofSeconds(60);

    static {
        // A class whose initializer overflows the stack stays unusable for the rest of the process.
        // Calls may run near the end of a stack, so these classes are initialized here.
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            for (Class<?> used : List.of(
                    ConstantPromise.class,
                    RefCountedTensor.class,
                    ConstantHold.class,
                    EvictionSelector.class,
                    ConstantCounters.class,
                    ConstantStatistics.class)) {
                lookup.ensureInitialized(used);
            }
        } catch (IllegalAccessException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final LockedLedger ledger;
    private final ConstantCounters counters;
    private final Duration maxWait;

    ConstantTensorCache(ConstantLimit limit, LongSupplier nanos, Duration maxWait) {
        this.ledger = new LockedLedger(limit, nanos);
        this.counters = ledger.counters();
        this.maxWait = maxWait;
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
            ConstantKey<B> key, long bytes, ConstantFactory<? extends B, E> factory) throws E {
        requirePositive(bytes);
        ConstantSlot<B> slot = ledger.find(key);
        ConstantHold<B> present = slot == null || slot.bytes() != bytes ? null : reuse(slot);
        return present != null ? present : getOrMake(key, bytes, factory);
    }

    private <B extends AutoCloseable, E extends Exception> ConstantHold<B> getOrMake(
            ConstantKey<B> key, long bytes, ConstantFactory<? extends B, E> factory) throws E {
        return switch (getOrAdd(key, bytes)) {
            case ConstantLookup.Hit<B> hit -> hit.constant();
            case ConstantLookup.Failed<B> other ->
                throw ConstantTensorCache.<RuntimeException>unchecked(other.cause());
            case ConstantLookup.Miss<B> miss -> make(miss.promise(), factory);
        };
    }

    private static <B extends AutoCloseable, E extends Exception> ConstantHold<B> make(
            ConstantPromise<B> promise, ConstantFactory<? extends B, E> factory) throws E {
        try (promise) {
            B buffer = null;
            try {
                buffer = Objects.requireNonNull(
                        factory.make(), "The factory of a constant returned null");
                return promise.fulfil(buffer);
            } catch (Throwable failure) {
                promise.fail(failure);
                if (buffer != null) {
                    RefCountedTensor.free(buffer); // it has no owner
                }
                throw failure;
            }
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
    public <B extends AutoCloseable> ConstantLookup<B> getOrAdd(ConstantKey<B> key, long bytes) {
        requirePositive(bytes);
        StackReserve.require(); // otherwise a promise without an owner could remain
        while (true) {
            ConstantSlot<B> slot = ledger.find(key);
            if (slot == null) {
                ConstantSlot<B> created = ledger.newSlot(key, bytes);
                if (ledger.promise(created)) {
                    return missOf(created);
                }
            } else {
                ConstantLookup<B> found = outcome(slot, bytes);
                if (found != null) {
                    return found;
                }
            }
        }
    }

    private <B extends AutoCloseable> ConstantLookup<B> missOf(ConstantSlot<B> promised) {
        try {
            return new ConstantLookup.Miss<>(new ConstantPromise<>(ledger, promised));
        } catch (Throwable e) { // no memory: the promise has no owner
            ledger.end(promised, null);
            throw e;
        }
    }

    private static void requirePositive(long bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException(
                    "A constant tensor needs a positive size, not " + bytes);
        }
    }

    /**
     * Returns another hold on the tensor of a slot, or null if it is not completed, or left the
     * cache and was freed.
     */
    private <B extends AutoCloseable> @Nullable ConstantHold<B> reuse(ConstantSlot<B> slot) {
        RefCountedTensor<B> tensor = slot.tensor();
        if (tensor == null) {
            return null;
        }
        ledger.recordUse(slot);
        counters.reused.increment();
        ConstantHold<B> constant = tensor.open(); // last: an error after it would leak the hold
        if (constant == null) {
            counters.reused.decrement();
        }
        return constant;
    }

    /**
     * Returns the outcome of a lookup that found {@code slot}, or null if the slot has left the
     * cache.
     */
    private <B extends AutoCloseable> @Nullable ConstantLookup<B> outcome(
            ConstantSlot<B> slot, long bytes) {
        if (slot.isBuiltByCaller()) {
            throw new IllegalStateException(
                    "Computing this constant needs the constant itself: " + slot.key());
        }
        if (slot.bytes() != bytes) {
            throw new IllegalArgumentException("The constant " + slot.key().key() + " has "
                    + slot.bytes() + " bytes, but the lookup specified " + bytes
                    + " bytes; tensors of different sizes need different keys");
        }
        if (slot.tensor() != null) {
            ConstantHold<B> constant = reuse(slot);
            return constant == null ? null : new ConstantLookup.Hit<>(constant);
        }
        return switch (await(slot)) {
            case ConstantSlot.WaitResult.Completed<B> completed -> {
                counters.reused.increment();
                counters.waited.increment();
                yield new ConstantLookup.Hit<>(completed.constant());
            }
            case ConstantSlot.WaitResult.Failed<B> other ->
                new ConstantLookup.Failed<>(other.cause());
            case ConstantSlot.WaitResult.TimedOut<B> _ ->
                new ConstantLookup.Miss<>(
                        new ConstantPromise<>(ledger, ledger.newSlot(slot.key(), bytes)));
            case ConstantSlot.WaitResult.Retry<B> _ -> null;
        };
    }

    /** Waits for another thread's tensor, unless that thread waits for this one. */
    private <B extends AutoCloseable> ConstantSlot.WaitResult<B> await(ConstantSlot<B> slot) {
        try {
            BuildCycleDetector.PROCESS.enter(slot);
            return slot.await(maxWait);
        } finally {
            BuildCycleDetector.PROCESS.leave();
        }
    }

    /**
     * Removes a tensor. Its holds stay valid. A tensor being computed is passed to the waiting
     * threads but not cached.
     *
     * @return true if it was cached or promised
     */
    public boolean removeIfExist(ConstantKey<?> key) {
        StackReserve.require();
        return ledger.remove(key);
    }

    /** Removes the cached and promised tensors of a context that can no longer be used. */
    public void removeContext(Object context) {
        StackReserve.require();
        ledger.removeContext(context);
    }

    /** Returns the bytes of all cached tensors. */
    public long getSize() {
        return statistics().bytes();
    }

    /** Returns the budget in MB of 1,048,576 bytes, or {@link ConstantLimit#UNLIMITED}. */
    public long getCapacity() {
        return limit().megabytes();
    }

    /** Returns the budget and its policy. */
    public ConstantLimit limit() {
        return ledger.limit();
    }

    /** Returns the counters and the content at one moment. */
    public ConstantStatistics statistics() {
        return ledger.statistics();
    }

    /** Returns true if the tensor is cached; does not count as a use. */
    boolean isCached(ConstantKey<?> key) {
        ConstantSlot<?> slot = ledger.find(key);
        return slot != null && slot.tensor() != null;
    }

    /** Returns the number of threads that wait for a tensor being computed. */
    int waiting(ConstantKey<?> key) {
        ConstantSlot<?> slot = ledger.find(key);
        return slot == null ? 0 : slot.waiting();
    }

    /**
     * Changes the limit. A lower limit flushes the cache, and so does the first one after no limit.
     *
     * @param removed receives the removed tensors, even if this fails; their users must be notified
     *     without a lock
     */
    void change(ConstantLimit newLimit, List<RefCountedTensor<?>> removed) {
        ledger.change(newLimit, removed);
    }

    /**
     * Rethrows the factory's exception unchanged: callers of one key use one kind of factory, so
     * its checked type is theirs.
     */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <T extends Throwable> T unchecked(Throwable failure) throws T {
        throw (T) failure;
    }
}
