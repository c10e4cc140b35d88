package dev.granary.cache.constant;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What one cache holds and has promised, and the account of its bytes: cached and promised ones together never exceed the limit. Guarded by
 * the lock of the cache, but for {@link #find}.
 */
final class ConstantLedger {
    private final ConcurrentHashMap<ConstantKey<?>, ConstantSlot<?>> slots = new ConcurrentHashMap<>();
    private ConstantLimit limit;
    private long keptBytes;
    private long promisedBytes;
    private long tensors;
    private long evicted;

    ConstantLedger(ConstantLimit limit) {
        this.limit = limit;
    }

    /** The slot of a key, made or promised; needs no lock. A slot lies under its own key, whose type parameter is the slot's. */
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

    long keptBytes() {
        return keptBytes;
    }

    long promisedBytes() {
        return promisedBytes;
    }

    long tensors() {
        return tensors;
    }

    /** How many tensors have left for others. */
    long evicted() {
        return evicted;
    }

    /** Changes the limit; true if that flushes: a lower number does, and so the first one after no limit. */
    boolean change(ConstantLimit newLimit) {
        boolean isLower = newLimit.megabytes() < limit.megabytes();
        limit = newLimit;
        return isLower;
    }

    /**
     * Takes in a promise, with its bytes reserved, if the tensor may be kept.
     *
     * @param left gets what had to leave
     */
    void promise(ConstantSlot<?> slot, List<RefCountedTensor<?>> left) {
        if (slot.bytes() > limit.bytes()) {
            return;
        }
        if (limit.policy() == ConstantPolicy.COST && missing(slot.bytes()) > 0) {
            slots.put(slot.key(), slot); // nothing is reserved: whether it is worth it shows when it is made
        } else if (makeRoom(slot, left)) {
            slots.put(slot.key(), slot); // first, since it takes memory
            slot.setReserved(true);
            promisedBytes += slot.bytes();
        }
    }

    /**
     * Keeps a tensor that is made, if there is room for it and its slot has not been removed.
     *
     * @param left gets what had to leave
     * @return whether it is kept
     */
    boolean keep(ConstantSlot<?> slot, List<RefCountedTensor<?>> left) {
        if (slots.get(slot.key()) != slot) {
            return false;
        }
        if (slot.isReserved()) {
            slot.setReserved(false);
            promisedBytes -= slot.bytes();
        } else if (!makeRoom(slot, left)) {
            slots.remove(slot.key(), slot);
            return false;
        }
        keptBytes += slot.bytes();
        tensors++;
        return true;
    }

    /** Takes a slot out, and its bytes off the account. */
    void remove(ConstantSlot<?> slot, List<RefCountedTensor<?>> left) {
        RefCountedTensor<?> tensor = slot.tensor();
        if (tensor != null) {
            left.add(tensor); // first, since it takes memory
        }
        slots.remove(slot.key(), slot);
        if (tensor != null) {
            tensor.uncache();
            keptBytes -= slot.bytes();
            tensors--;
        } else if (slot.isReserved()) {
            slot.setReserved(false);
            promisedBytes -= slot.bytes();
        }
    }

    private long missing(long bytes) {
        return bytes - (limit.bytes() - keptBytes - promisedBytes);
    }

    private boolean makeRoom(ConstantSlot<?> slot, List<RefCountedTensor<?>> left) {
        long missing = missing(slot.bytes());
        if (missing <= 0) {
            return true;
        }
        List<ConstantSlot<?>> kept = new ArrayList<>();
        slots.values().stream().filter(other -> other.tensor() != null).forEach(kept::add);
        List<ConstantSlot<?>> victims = switch (limit.policy()) {
            case NO_EVICT -> null;
            case LRU -> EvictionSelector.leastRecentlyUsed(kept, missing);
            case COST -> EvictionSelector.cheapest(kept, missing, slot.costNanos());
        };
        if (victims == null) {
            return false;
        }
        for (ConstantSlot<?> victim : victims) {
            remove(victim, left);
            evicted++;
        }
        return true;
    }
}
