package dev.granary.cache.constant;

import dev.granary.cache.build.BuildCycleDetector;
import dev.granary.cache.build.StackReserve;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
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

    // Guards the contents; of others, only the equality of keys runs under it. A monitor is let go whatever overflows, a Lock is not.
    private final Object lock = new Object();
    private final ConstantLedger contents;
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
        this.contents = new ConstantLedger(limit);
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
     * @throws IllegalStateException if making the tensor turns out to need the tensor itself, directly or through what other threads make
     * @throws IllegalArgumentException if {@code bytes} is not positive, or not the size with which that key is cached or being made
     */
    public <B extends AutoCloseable, E extends Exception> ConstantHold<B> get(ConstantKey<B> key, long bytes, ConstantFactory<? extends B, E> maker)
            throws E {
        requirePositive(bytes);
        ConstantSlot<B> slot = contents.find(key);
        ConstantHold<B> present = slot == null || slot.bytes() != bytes ? null : reuse(slot);
        return present != null ? present : getOrMake(key, bytes, maker);
    }

    private <B extends AutoCloseable, E extends Exception> ConstantHold<B> getOrMake(
            ConstantKey<B> key, long bytes, ConstantFactory<? extends B, E> maker) throws E {
        return switch (getOrAdd(key, bytes)) {
            case ConstantLookup.Hit<B> hit -> hit.constant();
            case ConstantLookup.Failed<B> other -> throw ConstantTensorCache.<RuntimeException>unchecked(other.cause());
            case ConstantLookup.Miss<B> miss -> make(miss.promise(), maker);
        };
    }

    private static <B extends AutoCloseable, E extends Exception> ConstantHold<B> make(
            ConstantPromise<B> promise, ConstantFactory<? extends B, E> maker) throws E {
        try (promise) {
            B buffer = null;
            try {
                buffer = Objects.requireNonNull(maker.make(), "The maker of a constant returned null");
                return promise.fulfil(buffer);
            } catch (Throwable failure) {
                promise.fail(failure);
                if (buffer != null) {
                    RefCountedTensor.free(buffer); // nobody has it
                }
                throw failure;
            }
        }
    }

    /**
     * Looks for a tensor, and promises it where nobody has. Waits while another thread makes it.
     *
     * <p>A promise is for the cache where the tensor may be kept. Where the budget is used up, too small or zero, it is for the caller alone:
     * others get promises of their own. With {@link ConstantPolicy#COST} that is known only when the tensor is made.
     *
     * @param bytes its size, which counts against the budget from now on
     * @throws IllegalStateException if this thread has promised that very tensor, or one that its maker waits for
     * @throws IllegalArgumentException if {@code bytes} is not positive, or not the size with which that key is cached or being made
     */
    public <B extends AutoCloseable> ConstantLookup<B> getOrAdd(ConstantKey<B> key, long bytes) {
        requirePositive(bytes);
        StackReserve.require(); // else a promise could be left that nobody has
        while (true) {
            ConstantSlot<B> slot = contents.find(key);
            if (slot == null) {
                ConstantSlot<B> mine = new ConstantSlot<>(key, bytes, nanos.getAsLong());
                if (promise(mine)) {
                    return missOf(mine);
                }
            } else {
                ConstantLookup<B> found = in(slot, bytes);
                if (found != null) {
                    return found;
                }
            }
        }
    }

    private <B extends AutoCloseable> ConstantLookup<B> missOf(ConstantSlot<B> promised) {
        try {
            return new ConstantLookup.Miss<>(new ConstantPromise<>(this, promised));
        } catch (Throwable e) { // no memory: nobody has the promise
            end(promised, null);
            throw e;
        }
    }

    private static void requirePositive(long bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException("A constant tensor needs a positive size, not " + bytes);
        }
    }

    /** One more hold on the tensor of a slot; null where it is not made, or has left the cache and was freed. */
    private <B extends AutoCloseable> @Nullable ConstantHold<B> reuse(ConstantSlot<B> slot) {
        RefCountedTensor<B> tensor = slot.tensor();
        if (tensor == null) {
            return null;
        }
        if (notesUses) {
            touch(slot);
        }
        reused.increment();
        ConstantHold<B> constant = tensor.open(); // last: an error after it would leave a hold that nobody lets go
        if (constant == null) {
            reused.decrement();
        }
        return constant;
    }

    /** What a slot that was found has for the caller; null where the slot is not in the cache any more. */
    private <B extends AutoCloseable> @Nullable ConstantLookup<B> in(ConstantSlot<B> slot, long bytes) {
        if (slot.isMadeByCaller()) {
            throw new IllegalStateException("Making this constant needs the constant itself: " + slot.key());
        }
        if (slot.bytes() != bytes) {
            throw new IllegalArgumentException("The constant " + slot.key().key() + " has " + slot.bytes() + " bytes, and was asked for with "
                    + bytes + ": the size is part of what is asked; tensors of different sizes need different keys");
        }
        if (slot.tensor() != null) {
            ConstantHold<B> constant = reuse(slot);
            return constant == null ? null : new ConstantLookup.Hit<>(constant);
        }
        return switch (await(slot)) {
            case ConstantSlot.Waited.Made<B> there -> {
                reused.increment();
                waited.increment();
                yield new ConstantLookup.Hit<>(there.constant());
            }
            case ConstantSlot.Waited.Failed<B> other -> new ConstantLookup.Failed<>(other.cause());
            case ConstantSlot.Waited.Enough<B> _ ->
                new ConstantLookup.Miss<>(new ConstantPromise<>(this, new ConstantSlot<>(slot.key(), bytes, nanos.getAsLong())));
            case ConstantSlot.Waited.Over<B> _ -> null;
        };
    }

    /** Waits for another thread's tensor, unless that thread waits for this one. */
    private <B extends AutoCloseable> ConstantSlot.Waited<B> await(ConstantSlot<B> slot) {
        try {
            BuildCycleDetector.PROCESS.enter(slot);
            return slot.await(longestWait);
        } finally {
            BuildCycleDetector.PROCESS.leave();
        }
    }

    /**
     * Removes a tensor; its users keep it. One that is being made goes to those who wait for it, and is not kept.
     *
     * @return true if it was there, or promised
     */
    public boolean removeIfExist(ConstantKey<?> key) {
        StackReserve.require();
        List<RefCountedTensor<?>> left = new ArrayList<>();
        try {
            synchronized (lock) {
                ConstantSlot<?> slot = contents.find(key);
                if (slot != null) {
                    contents.remove(slot, left);
                }
                return slot != null;
            }
        } finally {
            left.forEach(RefCountedTensor::leave);
        }
    }

    /** Removes the tensors of a context, made or promised: nobody can use them any more. */
    public void removeContext(Object context) {
        StackReserve.require();
        List<RefCountedTensor<?>> left = new ArrayList<>();
        try {
            synchronized (lock) {
                contents.all().stream().filter(slot -> slot.key().context().equals(context)).forEach(slot -> contents.remove(slot, left));
            }
        } finally {
            left.forEach(RefCountedTensor::leave);
        }
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
        synchronized (lock) {
            return contents.limit();
        }
    }

    /** What it has done, and what it holds at one moment. */
    public ConstantStatistics statistics() {
        synchronized (lock) {
            return new ConstantStatistics(made.sum(), reused.sum(), waited.sum(), notKept.sum(), contents.evicted(), failed.sum(),
                    contents.tensors(), contents.keptBytes(), contents.promisedBytes());
        }
    }

    /** True if the tensor is made and cached; does not count as a use. */
    boolean isCached(ConstantKey<?> key) {
        ConstantSlot<?> slot = contents.find(key);
        return slot != null && slot.tensor() != null;
    }

    /** How many threads wait for a tensor that is being made. */
    int waiting(ConstantKey<?> key) {
        ConstantSlot<?> slot = contents.find(key);
        return slot == null ? 0 : slot.waiting();
    }

    /**
     * Changes the limit. A lower number flushes the cache, and so does the first one after no limit.
     *
     * @param left gets what has left, even if this fails; its users are to be told with no lock held
     */
    void change(ConstantLimit newLimit, List<RefCountedTensor<?>> left) {
        synchronized (lock) {
            notesUses = newLimit.policy() != ConstantPolicy.NO_EVICT;
            if (contents.change(newLimit)) {
                contents.all().forEach(slot -> contents.remove(slot, left));
            }
        }
    }

    /** Takes on a promise, for the cache or for the caller alone; false where the key has a slot meanwhile. */
    private boolean promise(ConstantSlot<?> mine) {
        List<RefCountedTensor<?>> left = new ArrayList<>();
        try {
            synchronized (lock) {
                if (contents.find(mine.key()) != null) {
                    return false;
                }
                contents.promise(mine, left);
                return true;
            }
        } finally {
            left.forEach(RefCountedTensor::leave);
        }
    }

    <B extends AutoCloseable> ConstantHold<B> fulfil(ConstantSlot<B> slot, B buffer) {
        StackReserve.require();
        long now = nanos.getAsLong();
        List<RefCountedTensor<?>> left = new ArrayList<>();
        RefCountedTensor<B> tensor = new RefCountedTensor<>(buffer);
        ConstantHold<B> constant = tensor.handOver(); // all that takes memory is made before anything counts
        try {
            synchronized (lock) {
                if (slot.isEnded()) {
                    throw new IllegalStateException("The promise of this constant has ended already: " + slot.key());
                }
                slot.measure(now);
                boolean isKept = contents.keep(slot, left);
                touch(slot);
                slot.complete(tensor, isKept);
                made.increment();
                notKept.add(isKept ? 0 : 1);
            }
        } finally {
            left.forEach(RefCountedTensor::leave);
        }
        return constant;
    }

    /** Ends a promise without a tensor, if it has not ended. */
    void end(ConstantSlot<?> slot, @Nullable Throwable cause) {
        StackReserve.requireLittle();
        endNow(slot, cause);
    }

    /** The same, without a check of the stack: for an end that can be tried only once. */
    void endNow(ConstantSlot<?> slot, @Nullable Throwable cause) {
        synchronized (lock) {
            if (!slot.isEnded()) {
                contents.remove(slot, new ArrayList<>()); // it has no tensor that could leave
                slot.fail(cause);
                failed.increment();
            }
        }
    }

    private void touch(ConstantSlot<?> slot) {
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
