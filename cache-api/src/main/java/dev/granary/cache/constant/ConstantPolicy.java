package dev.granary.cache.constant;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The treatment of a new tensor when the budget is exhausted. A tensor larger than the whole budget
 * is never cached under any policy.
 */
public enum ConstantPolicy {
    /** Cached tensors stay; the new one is computed but not cached. */
    NO_EVICT,
    /**
     * Tensors with the least compute time per byte are evicted first, if their total compute time
     * is less than that of the new one. Otherwise the new one is not cached.
     */
    COST,
    /** The least recently used tensors are evicted. */
    LRU;

    /**
     * Selects cached tensors with at least {@code bytes} bytes to evict for a new one.
     *
     * @param costNanos the compute time of the new one
     * @return the selected tensors, or null if all together are smaller, or if this policy keeps
     *     them
     */
    @Nullable
    List<ConstantSlot<?>> select(List<ConstantSlot<?>> cached, long bytes, long costNanos) {
        if (this == NO_EVICT) {
            return null;
        }
        if (this == LRU) {
            return first(cached, Comparator.comparingLong(slot -> slot.lastUse), bytes);
        }
        List<ConstantSlot<?>> selected = first(
                cached,
                Comparator.<ConstantSlot<?>>comparingDouble(
                                slot -> (double) slot.costNanos / slot.bytes)
                        .thenComparingLong(slot -> slot.lastUse),
                bytes);
        if (selected == null) {
            return null;
        }
        List<ConstantSlot<?>> needed = withoutUnneeded(selected, bytes);
        return needed.stream().mapToLong(slot -> slot.costNanos).sum() < costNanos ? needed : null;
    }

    private static @Nullable List<ConstantSlot<?>> first(
            List<ConstantSlot<?>> cached, Comparator<ConstantSlot<?>> order, long bytes) {
        cached.sort(order);
        List<ConstantSlot<?>> selected = new ArrayList<>();
        long freed = 0;
        for (ConstantSlot<?> slot : cached) {
            if (freed >= bytes) {
                break;
            }
            selected.add(slot);
            freed += slot.bytes;
        }
        return freed >= bytes ? selected : null;
    }

    /**
     * Drops tensors that need not be evicted because of larger ones selected later, the most
     * valuable first.
     */
    private static List<ConstantSlot<?>> withoutUnneeded(
            List<ConstantSlot<?>> selected, long bytes) {
        long spare = selected.stream().mapToLong(slot -> slot.bytes).sum() - bytes;
        List<ConstantSlot<?>> needed = new ArrayList<>();
        for (ConstantSlot<?> slot : selected.reversed()) {
            if (slot.bytes <= spare) {
                spare -= slot.bytes;
            } else {
                needed.add(slot);
            }
        }
        return needed;
    }
}
