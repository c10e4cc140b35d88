package dev.granary.cache.constant;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** A selector of the tensors to evict for a new one. */
final class EvictionSelector {
    private static final Comparator<ConstantSlot<?>> OLDEST_FIRST =
            Comparator.comparingLong(slot -> slot.lastUse);
    private static final Comparator<ConstantSlot<?>> CHEAPEST_FIRST =
            Comparator.<ConstantSlot<?>>comparingDouble(
                            slot -> (double) slot.costNanos / slot.bytes)
                    .thenComparing(OLDEST_FIRST);

    private EvictionSelector() {}

    /**
     * Selects tensors with at least {@code bytes} bytes: by {@link ConstantPolicy#LRU} the least
     * recently used, by {@link ConstantPolicy#COST} those with the least compute time per byte.
     *
     * @return the selected tensors, or null if all together are smaller, if their compute time by
     *     {@link ConstantPolicy#COST} is not less than {@code costNanos}, or if the policy evicts
     *     none
     */
    static @Nullable List<ConstantSlot<?>> select(
            ConstantPolicy policy, List<ConstantSlot<?>> cached, long bytes, long costNanos) {
        if (policy == ConstantPolicy.NO_EVICT) {
            return null;
        }
        if (policy == ConstantPolicy.LRU) {
            return first(cached, OLDEST_FIRST, bytes);
        }
        List<ConstantSlot<?>> selected = first(cached, CHEAPEST_FIRST, bytes);
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
