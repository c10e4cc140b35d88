package dev.granary.cache.constant;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The constant tensors of one device, within its budget. Thread-safe; made by {@link ConstantTensorCaches}, which sets the budget.
 *
 * <p>One of many callers that miss a tensor at once makes it, the others wait for it. A tensor that is being made has its bytes reserved, so
 * that cached and promised tensors together never exceed the budget. What leaves the cache lives until its last user lets go; memory in use
 * by users alone is not counted.
 *
 * <p>Nobody waits for ever: not for a promise that was dropped ({@link ConstantPromise}), not when interrupted, and never longer than the
 * longest wait. Who stops waiting makes the tensor for itself, and that one is not kept.
 */
public final class ConstantTensorCache {
    /** How long a caller waits for another that is making the tensor: 60 seconds, then it makes it too. */
    public static final Duration LONGEST_WAIT = Duration.ofSeconds(60);

    private final ReentrantLock lock = new ReentrantLock(); // guards the contents; of others, only the equality of keys runs under it
    private final Contents contents;
    private final AtomicLong clock = new AtomicLong();
    private final LongSupplier nanos;
    private final Duration longestWait;
    private volatile boolean notesUses; // where none is ever evicted, a hit writes nothing that another thread reads

    private final LongAdder made = new LongAdder();
    private final LongAdder reused = new LongAdder();
    private final LongAdder waited = new LongAdder();
    private final LongAdder notKept = new LongAdder();
    private final LongAdder failed = new LongAdder();

    ConstantTensorCache(ConstantLimit limit, LongSupplier nanos, Duration longestWait) {
        this.contents = new Contents(limit);
        this.notesUses = limit.policy() != ConstantPolicy.NO_EVICT;
        this.nanos = nanos;
        this.longestWait = longestWait;
    }

    /**
     * The tensor, from the cache, from another thread that is making it, or from {@code maker}.
     *
     * @param bytes its size
     * @return the caller's hold on it, to be closed
     * @throws E what the maker threw, in this thread or in the one that made
     * @throws NullPointerException if the maker returned null
     * @throws IllegalStateException if making the tensor turns out to need the tensor itself
     * @throws IllegalArgumentException if {@code bytes} is not positive
     */
    public <B extends AutoCloseable, E extends Exception> Constant<B> get(ConstantKey<B> key, long bytes, ConstantMaker<? extends B, E> maker)
            throws E {
        requirePositive(bytes);
        Slot<B> slot = contents.find(key);
        Constant<B> present = slot == null ? null : reuse(slot);
        return present != null ? present : getOrMake(key, bytes, maker);
    }

    private <B extends AutoCloseable, E extends Exception> Constant<B> getOrMake(
            ConstantKey<B> key, long bytes, ConstantMaker<? extends B, E> maker) throws E {
        return switch (getOrAdd(key, bytes)) {
            case ConstantLookUp.Hit<B> hit -> hit.constant();
            case ConstantLookUp.Failed<B> other -> throw ConstantTensorCache.<RuntimeException>unchecked(other.cause());
            case ConstantLookUp.Miss<B> miss -> make(miss.promise(), maker);
        };
    }

    private static <B extends AutoCloseable, E extends Exception> Constant<B> make(
            ConstantPromise<B> promise, ConstantMaker<? extends B, E> maker) throws E {
        try (promise) {
            B buffer;
            try {
                buffer = Objects.requireNonNull(maker.make(), "The maker of a constant returned null");
            } catch (Throwable failure) {
                promise.fail(failure);
                throw failure;
            }
            return promise.fulfil(buffer);
        }
    }

    /**
     * Looks for a tensor, and promises it where nobody has. Waits while another thread makes it.
     *
     * <p>A promise is for the cache where the tensor may be kept. Where the budget is used up, too small or zero, it is for the caller alone:
     * others get promises of their own. With {@link ConstantPolicy#COST} that is known only when the tensor is made.
     *
     * @param bytes its size, which counts against the budget from now on
     * @throws IllegalStateException if this thread has promised that very tensor
     * @throws IllegalArgumentException if {@code bytes} is not positive
     */
    public <B extends AutoCloseable> ConstantLookUp<B> getOrAdd(ConstantKey<B> key, long bytes) {
        requirePositive(bytes);
        while (true) {
            Slot<B> slot = contents.find(key);
            if (slot == null) {
                Slot<B> mine = new Slot<>(key, bytes, nanos.getAsLong());
                if (promise(mine)) {
                    return new ConstantLookUp.Miss<>(new ConstantPromise<>(this, mine));
                }
            } else {
                ConstantLookUp<B> found = in(slot, bytes);
                if (found != null) {
                    return found;
                }
            }
        }
    }

    private static void requirePositive(long bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException("A constant tensor needs a positive size, not " + bytes);
        }
    }

    /** One more hold on the tensor of a slot; null where it is not made, or has left the cache and was freed. */
    private <B extends AutoCloseable> @Nullable Constant<B> reuse(Slot<B> slot) {
        Tensor<B> tensor = slot.tensor();
        Constant<B> constant = tensor == null ? null : tensor.open();
        if (constant != null) {
            if (notesUses) {
                touch(slot);
            }
            reused.increment();
        }
        return constant;
    }

    /** What a slot that was found has for the caller; null where the slot is not in the cache any more. */
    private <B extends AutoCloseable> @Nullable ConstantLookUp<B> in(Slot<B> slot, long bytes) {
        if (slot.tensor() != null) {
            Constant<B> constant = reuse(slot);
            return constant == null ? null : new ConstantLookUp.Hit<>(constant);
        }
        if (slot.isMadeByCaller()) {
            throw new IllegalStateException("Making this constant needs the constant itself: " + slot.key());
        }
        return switch (slot.await(longestWait)) {
            case Slot.Waited.Made<B> there -> {
                reused.increment();
                waited.increment();
                yield new ConstantLookUp.Hit<>(there.constant());
            }
            case Slot.Waited.Failed<B> other -> new ConstantLookUp.Failed<>(other.cause());
            case Slot.Waited.Enough<B> _ ->
                new ConstantLookUp.Miss<>(new ConstantPromise<>(this, new Slot<>(slot.key(), bytes, nanos.getAsLong())));
            case Slot.Waited.Over<B> _ -> null;
        };
    }

    /**
     * Removes a tensor; its users keep it. One that is being made goes to those who wait for it, and is not kept.
     *
     * @return true if it was there, or promised
     */
    public boolean removeIfExist(ConstantKey<?> key) {
        List<Tensor<?>> left = new ArrayList<>();
        boolean wasThere;
        lock.lock();
        try {
            Slot<?> slot = contents.find(key);
            wasThere = slot != null;
            if (slot != null) {
                contents.remove(slot, left);
            }
        } finally {
            lock.unlock();
        }
        left.forEach(Tensor::leave);
        return wasThere;
    }

    /** Removes the tensors of a context, made or promised: nobody can use them any more. */
    public void removeContext(Object context) {
        List<Tensor<?>> left = new ArrayList<>();
        lock.lock();
        try {
            contents.all().stream().filter(slot -> slot.key().context().equals(context)).forEach(slot -> contents.remove(slot, left));
        } finally {
            lock.unlock();
        }
        left.forEach(Tensor::leave);
    }

    /** The bytes of all cached tensors. */
    public long getSize() {
        return statistics().bytes();
    }

    /** The budget in MB of 1,048,576 bytes; {@link ConstantLimit#UNLIMITED} where there is none. */
    public long getCapacity() {
        return limit().megabytes();
    }

    /** The budget, and what happens when it is used up. */
    public ConstantLimit limit() {
        lock.lock();
        try {
            return contents.limit();
        } finally {
            lock.unlock();
        }
    }

    /** What it has done, and what it holds at one moment. */
    public ConstantStatistics statistics() {
        lock.lock();
        try {
            return new ConstantStatistics(made.sum(), reused.sum(), waited.sum(), notKept.sum(), contents.evicted(), failed.sum(),
                    contents.tensors(), contents.keptBytes(), contents.promisedBytes());
        } finally {
            lock.unlock();
        }
    }

    /** True if the tensor is made and cached; does not count as a use. */
    boolean isCached(ConstantKey<?> key) {
        Slot<?> slot = contents.find(key);
        return slot != null && slot.tensor() != null;
    }

    /** How many threads wait for a tensor that is being made. */
    int waiting(ConstantKey<?> key) {
        Slot<?> slot = contents.find(key);
        return slot == null ? 0 : slot.waiting();
    }

    /**
     * Changes the limit. A lower number flushes the cache, and so does the first one after no limit.
     *
     * @return what has left; its users are to be told with no lock held
     */
    List<Tensor<?>> change(ConstantLimit newLimit) {
        List<Tensor<?>> left = new ArrayList<>();
        lock.lock();
        try {
            notesUses = newLimit.policy() != ConstantPolicy.NO_EVICT;
            if (contents.change(newLimit)) {
                contents.all().forEach(slot -> contents.remove(slot, left));
            }
        } finally {
            lock.unlock();
        }
        return left;
    }

    /** Takes on a promise, for the cache or for the caller alone; false where the key has a slot meanwhile. */
    private boolean promise(Slot<?> mine) {
        List<Tensor<?>> left = new ArrayList<>();
        lock.lock();
        try {
            if (contents.find(mine.key()) != null) {
                return false;
            }
            contents.promise(mine, left);
        } finally {
            lock.unlock();
        }
        left.forEach(Tensor::leave);
        return true;
    }

    <B extends AutoCloseable> Constant<B> fulfil(Slot<B> slot, B buffer) {
        long now = nanos.getAsLong();
        List<Tensor<?>> left = new ArrayList<>();
        Constant<B> constant;
        lock.lock();
        try {
            if (slot.isEnded()) {
                throw new IllegalStateException("The promise of this constant has ended already: " + slot.key());
            }
            slot.measure(now);
            boolean isKept = contents.keep(slot, left);
            touch(slot);
            constant = slot.complete(buffer, isKept);
            made.increment();
            notKept.add(isKept ? 0 : 1);
        } finally {
            lock.unlock();
        }
        left.forEach(Tensor::leave);
        return constant;
    }

    /** Ends a promise without a tensor, if it has not ended. */
    void end(Slot<?> slot, @Nullable Throwable cause) {
        lock.lock();
        try {
            if (!slot.isEnded()) {
                contents.remove(slot, new ArrayList<>()); // it has no tensor that could leave
                slot.fail(cause);
                failed.increment();
            }
        } finally {
            lock.unlock();
        }
    }

    private void touch(Slot<?> slot) {
        if (slot.stamp() != clock.get()) {
            slot.setStamp(clock.incrementAndGet());
        }
    }

    /** The maker's failure as it is: callers of one key share one kind of maker, so its checked type is theirs. */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <T extends Throwable> T unchecked(Throwable failure) throws T {
        throw (T) failure;
    }
}
