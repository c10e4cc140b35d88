package dev.granary.cache.constant;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Chooses which tensors leave for a new one. */
final class Eviction {
    private static final Comparator<Slot<?>> OLDEST_FIRST = Comparator.comparingLong(Slot::stamp);
    private static final Comparator<Slot<?>> CHEAPEST_FIRST =
            Comparator.<Slot<?>>comparingDouble(slot -> (double) slot.costNanos() / slot.bytes()).thenComparing(OLDEST_FIRST);

    private Eviction() {}

    /** The least recently used that free {@code bytes}; null where all together do not. */
    static @Nullable List<Slot<?>> leastRecentlyUsed(List<Slot<?>> kept, long bytes) {
        return first(kept, OLDEST_FIRST, bytes);
    }

    /**
     * Those that took the least time for each byte and free {@code bytes}; null where all together do not, or where they took as long to make
     * as the new one, or longer: then the exchange would lose time.
     */
    static @Nullable List<Slot<?>> cheapest(List<Slot<?>> kept, long bytes, long costNanos) {
        List<Slot<?>> found = first(kept, CHEAPEST_FIRST, bytes);
        if (found == null) {
            return null;
        }
        List<Slot<?>> needed = withoutNeedless(found, bytes);
        return needed.stream().mapToLong(Slot::costNanos).sum() < costNanos ? needed : null;
    }

    private static @Nullable List<Slot<?>> first(List<Slot<?>> kept, Comparator<Slot<?>> order, long bytes) {
        List<Slot<?>> found = new ArrayList<>();
        long freed = 0;
        for (Slot<?> slot : kept.stream().sorted(order).toList()) {
            if (freed >= bytes) {
                break;
            }
            found.add(slot);
            freed += slot.bytes();
        }
        return freed >= bytes ? found : null;
    }

    /** Without those that need not leave since larger ones came after them, the most valuable stay first. */
    private static List<Slot<?>> withoutNeedless(List<Slot<?>> found, long bytes) {
        long spare = found.stream().mapToLong(Slot::bytes).sum() - bytes;
        List<Slot<?>> needed = new ArrayList<>();
        for (Slot<?> slot : found.reversed()) {
            if (slot.bytes() <= spare) {
                spare -= slot.bytes();
            } else {
                needed.add(slot);
            }
        }
        return needed;
    }
}
