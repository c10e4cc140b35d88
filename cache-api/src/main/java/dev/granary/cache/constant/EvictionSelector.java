package dev.granary.cache.constant;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Chooses which tensors leave for a new one. */
final class EvictionSelector {
    private static final Comparator<ConstantSlot<?>> OLDEST_FIRST = Comparator.comparingLong(ConstantSlot::stamp);
    private static final Comparator<ConstantSlot<?>> CHEAPEST_FIRST =
            Comparator.<ConstantSlot<?>>comparingDouble(slot -> (double) slot.costNanos() / slot.bytes()).thenComparing(OLDEST_FIRST);

    private EvictionSelector() {}

    /** The least recently used that free {@code bytes}; null where all together do not. */
    static @Nullable List<ConstantSlot<?>> leastRecentlyUsed(List<ConstantSlot<?>> kept, long bytes) {
        return first(kept, OLDEST_FIRST, bytes);
    }

    /**
     * Those that took the least time for each byte and free {@code bytes}; null where all together do not, or where they took as long to make
     * as the new one, or longer: then the exchange would lose time.
     */
    static @Nullable List<ConstantSlot<?>> cheapest(List<ConstantSlot<?>> kept, long bytes, long costNanos) {
        List<ConstantSlot<?>> found = first(kept, CHEAPEST_FIRST, bytes);
        if (found == null) {
            return null;
        }
        List<ConstantSlot<?>> needed = withoutNeedless(found, bytes);
        return needed.stream().mapToLong(ConstantSlot::costNanos).sum() < costNanos ? needed : null;
    }

    private static @Nullable List<ConstantSlot<?>> first(List<ConstantSlot<?>> kept, Comparator<ConstantSlot<?>> order, long bytes) {
        List<ConstantSlot<?>> found = new ArrayList<>();
        long freed = 0;
        for (ConstantSlot<?> slot : kept.stream().sorted(order).toList()) {
            if (freed >= bytes) {
                break;
            }
            found.add(slot);
            freed += slot.bytes();
        }
        return freed >= bytes ? found : null;
    }

    /** Without those that need not leave since larger ones came after them, the most valuable stay first. */
    private static List<ConstantSlot<?>> withoutNeedless(List<ConstantSlot<?>> found, long bytes) {
        long spare = found.stream().mapToLong(ConstantSlot::bytes).sum() - bytes;
        List<ConstantSlot<?>> needed = new ArrayList<>();
        for (ConstantSlot<?> slot : found.reversed()) {
            if (slot.bytes() <= spare) {
                spare -= slot.bytes();
            } else {
                needed.add(slot);
            }
        }
        return needed;
    }
}
