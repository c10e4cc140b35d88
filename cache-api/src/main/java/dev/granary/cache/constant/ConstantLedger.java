package dev.granary.cache.constant;

import dev.granary.cache.constant.config.ConstantLimit;
import dev.granary.cache.constant.config.ConstantPolicy;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The ledger of one cache: its tensors, its promises and their bytes. Cached and promised bytes
 * together never exceed the limit. Guarded by the lock of the cache, except for {@link #find}.
 */
final class ConstantLedger {
    private final ConcurrentHashMap<ConstantKey<?>, ConstantSlot<?>> slots =
            new ConcurrentHashMap<>();
    private ConstantLimit limit;
    private long cachedBytes;
    private long promisedBytes;
    private long tensors;
    private long evicted;

    ConstantLedger(ConstantLimit limit) {
        this.limit = limit;
    }

    /**
     * Returns the slot of a key, cached or promised; needs no lock. A slot is stored under its own
     * key, whose type parameter is the slot's.
     */
    @SuppressWarnings("unchecked")
    <B extends AutoCloseable> @Nullable ConstantSlot<B> find(ConstantKey<B> key) {
        return (ConstantSlot<B>) slots.get(key);
    }

    Collection<ConstantSlot<?>> all() {
        return slots.values();
    }

    ConstantLimit limit() {
        return limit;
    }

    long cachedBytes() {
        return cachedBytes;
    }

    long promisedBytes() {
        return promisedBytes;
    }

    long tensors() {
        return tensors;
    }

    /** Returns the number of tensors evicted for others. */
    long evicted() {
        return evicted;
    }

    /**
     * Changes the limit.
     *
     * @return true if the cache must be flushed: the new limit is lower, or the first after no
     *     limit
     */
    boolean change(ConstantLimit newLimit) {
        boolean isLower = newLimit.megabytes() < limit.megabytes();
        limit = newLimit;
        return isLower;
    }

    /**
     * Adds a promise, with its bytes reserved, if the tensor may be cached.
     *
     * @param removed receives the evicted tensors
     */
    void promise(ConstantSlot<?> slot, List<RefCountedTensor<?>> removed) {
        if (slot.bytes() > limit.bytes()) {
            return;
        }
        if (limit.policy() == ConstantPolicy.COST && shortfall(slot.bytes()) > 0) {
            // nothing is reserved: the cost is known only at the end
            slots.put(slot.key(), slot);
        } else if (ensureCapacity(slot, removed)) {
            slots.put(slot.key(), slot); // first, because it allocates
            slot.setReserved(true);
            promisedBytes += slot.bytes();
        }
    }

    /**
     * Caches a completed tensor if there is room and its slot has not been removed.
     *
     * @param removed receives the evicted tensors
     * @return true if the tensor is cached
     */
    boolean add(ConstantSlot<?> slot, List<RefCountedTensor<?>> removed) {
        if (slots.get(slot.key()) != slot) {
            return false;
        }
        if (slot.isReserved()) {
            slot.setReserved(false);
            promisedBytes -= slot.bytes();
        } else if (!ensureCapacity(slot, removed)) {
            slots.remove(slot.key(), slot);
            return false;
        }
        cachedBytes += slot.bytes();
        tensors++;
        return true;
    }

    /** Removes a slot and its bytes. */
    void remove(ConstantSlot<?> slot, List<RefCountedTensor<?>> removed) {
        RefCountedTensor<?> tensor = slot.tensor();
        if (tensor != null) {
            removed.add(tensor); // first, because it allocates
        }
        slots.remove(slot.key(), slot);
        if (tensor != null) {
            tensor.uncache();
            cachedBytes -= slot.bytes();
            tensors--;
        } else if (slot.isReserved()) {
            slot.setReserved(false);
            promisedBytes -= slot.bytes();
        }
    }

    private long shortfall(long bytes) {
        return bytes - (limit.bytes() - cachedBytes - promisedBytes);
    }

    private boolean ensureCapacity(ConstantSlot<?> slot, List<RefCountedTensor<?>> removed) {
        long shortfall = shortfall(slot.bytes());
        if (shortfall <= 0) {
            return true;
        }
        if (limit.policy() == ConstantPolicy.NO_EVICT) {
            return false;
        }
        List<ConstantSlot<?>> cached = new ArrayList<>();
        slots.values().stream().filter(other -> other.tensor() != null).forEach(cached::add);
        // no switch, whose table is a class to initialize: see ConstantTensorCache
        List<ConstantSlot<?>> victims = limit.policy() == ConstantPolicy.LRU
                ? EvictionSelector.leastRecentlyUsed(cached, shortfall)
                : EvictionSelector.cheapest(cached, shortfall, slot.costNanos());
        if (victims == null) {
            return false;
        }
        for (ConstantSlot<?> victim : victims) {
            remove(victim, removed);
            evicted++;
        }
        return true;
    }
}
