package dev.granary.cache.constant;

import dev.granary.cache.build.StackReserve;
import dev.granary.cache.constant.config.ConstantLimit;
import dev.granary.cache.constant.config.ConstantPolicy;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * The ledger of one cache behind its lock, with its counters and the clock of uses. Thread-safe.
 *
 * <p>Users of tensors that leave the cache are notified after the lock is released, also if the
 * change fails.
 */
final class LockedLedger {
    // The only foreign code under it is the equality of keys. It is a monitor, because a monitor is
    // released even after a stack overflow, a Lock is not.
    private final Object lock = new Object();
    private final ConstantLedger ledger;
    private final ConstantCounters counters = new ConstantCounters();
    private final AtomicLong clock = new AtomicLong();
    private final LongSupplier nanos;
    private volatile boolean recordsUses; // if false, a hit writes no shared memory

    LockedLedger(ConstantLimit limit, LongSupplier nanos) {
        this.ledger = new ConstantLedger(limit);
        this.recordsUses = limit.policy() != ConstantPolicy.NO_EVICT;
        this.nanos = nanos;
    }

    ConstantCounters counters() {
        return counters;
    }

    /** Returns a new slot of this thread, which is not in the ledger. */
    <B extends AutoCloseable> ConstantSlot<B> newSlot(ConstantKey<B> key, long bytes) {
        return new ConstantSlot<>(key, bytes, nanos.getAsLong());
    }

    /** Returns the slot of a key, cached or promised; takes no lock. */
    <B extends AutoCloseable> @Nullable ConstantSlot<B> find(ConstantKey<B> key) {
        return ledger.find(key);
    }

    /** Records a use of a slot if the policy needs it; takes no lock. */
    void recordUse(ConstantSlot<?> slot) {
        if (recordsUses) {
            touch(slot);
        }
    }

    private void touch(ConstantSlot<?> slot) {
        if (slot.lastUse() != clock.get()) {
            slot.setLastUse(clock.incrementAndGet());
        }
    }

    ConstantLimit limit() {
        synchronized (lock) {
            return ledger.limit();
        }
    }

    /** Returns the counters and the content at one moment. */
    ConstantStatistics statistics() {
        synchronized (lock) {
            return counters.snapshot(ledger);
        }
    }

    /**
     * Changes the limit. A lower limit flushes the cache, and so does the first one after no limit.
     *
     * @param removed receives the removed tensors, even if this fails; their users must be notified
     *     without a lock
     */
    void change(ConstantLimit newLimit, List<RefCountedTensor<?>> removed) {
        synchronized (lock) {
            recordsUses = newLimit.policy() != ConstantPolicy.NO_EVICT;
            if (ledger.change(newLimit)) {
                ledger.all().forEach(slot -> ledger.remove(slot, removed));
            }
        }
    }

    /** Removes a tensor or promise; returns false if there is none. */
    boolean remove(ConstantKey<?> key) {
        List<RefCountedTensor<?>> removed = new ArrayList<>();
        try {
            synchronized (lock) {
                ConstantSlot<?> slot = ledger.find(key);
                if (slot != null) {
                    ledger.remove(slot, removed);
                }
                return slot != null;
            }
        } finally {
            removed.forEach(RefCountedTensor::notifyAndRelease);
        }
    }

    /** Removes the tensors and promises of a context. */
    void removeContext(Object context) {
        List<RefCountedTensor<?>> removed = new ArrayList<>();
        try {
            synchronized (lock) {
                ledger.all().stream()
                        .filter(slot -> slot.key().context().equals(context))
                        .forEach(slot -> ledger.remove(slot, removed));
            }
        } finally {
            removed.forEach(RefCountedTensor::notifyAndRelease);
        }
    }

    /**
     * Registers a promise, shared or private.
     *
     * @return false if the key has a slot meanwhile
     */
    boolean promise(ConstantSlot<?> slot) {
        List<RefCountedTensor<?>> removed = new ArrayList<>();
        try {
            synchronized (lock) {
                if (ledger.find(slot.key()) != null) {
                    return false;
                }
                ledger.promise(slot, removed);
                return true;
            }
        } finally {
            removed.forEach(RefCountedTensor::notifyAndRelease);
        }
    }

    /**
     * Ends a promise with its tensor, which is cached if there is room.
     *
     * @throws IllegalStateException if the promise has ended
     */
    <B extends AutoCloseable> ConstantHold<B> fulfil(ConstantSlot<B> slot, B buffer) {
        StackReserve.require();
        long now = nanos.getAsLong();
        List<RefCountedTensor<?>> removed = new ArrayList<>();
        RefCountedTensor<B> tensor = new RefCountedTensor<>(buffer);
        ConstantHold<B> constant = tensor.countedHold(); // allocated before any state changes
        try {
            synchronized (lock) {
                if (slot.isEnded()) {
                    throw new IllegalStateException(
                            "The promise of this constant has already ended: " + slot.key());
                }
                slot.setCost(now);
                boolean isCached = ledger.add(slot, removed);
                touch(slot);
                slot.complete(tensor, isCached);
                counters.made(isCached);
            }
        } finally {
            removed.forEach(RefCountedTensor::notifyAndRelease);
        }
        return constant;
    }

    /** Ends a promise without a tensor, if it has not ended. */
    void end(ConstantSlot<?> slot, @Nullable Throwable cause) {
        StackReserve.requireLittle();
        endNow(slot, cause);
    }

    /** Ends a promise without a check of the stack, for an end that can be tried only once. */
    void endNow(ConstantSlot<?> slot, @Nullable Throwable cause) {
        synchronized (lock) {
            if (!slot.isEnded()) {
                ledger.remove(slot, new ArrayList<>()); // there is no tensor to remove
                slot.fail(cause);
                counters.failed.increment();
            }
        }
    }
}
