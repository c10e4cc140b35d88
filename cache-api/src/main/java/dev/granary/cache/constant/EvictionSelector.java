package dev.granary.cache.constant;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** A selector of the tensors to evict for a new one. */
final class EvictionSelector {
    private final Comparator<Candidate> oldestFirst = Comparator.comparingLong(Candidate::lastUse);
    private final Comparator<Candidate> cheapestFirst = Comparator.<Candidate>comparingDouble(
                    one -> (double) one.slot.costNanos / one.slot.bytes)
            .thenComparing(oldestFirst);

    /** A cached tensor with its last use at one moment: hits go on while candidates are sorted. */
    private record Candidate(ConstantSlot<?> slot, long lastUse) {}

    /**
     * Selects tensors with at least {@code bytes} bytes: by {@link ConstantPolicy#LRU} the least
     * recently used, by {@link ConstantPolicy#COST} those with the least compute time per byte.
     *
     * @return the selected tensors, or null if all together are smaller, if their compute time by
     *     {@link ConstantPolicy#COST} is not less than {@code costNanos}, or if the policy evicts
     *     none
     */
    @Nullable
    List<ConstantSlot<?>> select(
            ConstantPolicy policy, List<ConstantSlot<?>> cached, long bytes, long costNanos) {
        if (policy == ConstantPolicy.NO_EVICT) {
            return null;
        }
        if (policy == ConstantPolicy.LRU) {
            return first(cached, oldestFirst, bytes);
        }
        List<ConstantSlot<?>> selected = first(cached, cheapestFirst, bytes);
        if (selected == null) {
            return null;
        }
        List<ConstantSlot<?>> needed = withoutUnneeded(selected, bytes);
        return needed.stream().mapToLong(slot -> slot.costNanos).sum() < costNanos ? needed : null;
    }

    private static @Nullable List<ConstantSlot<?>> first(
            List<ConstantSlot<?>> cached, Comparator<Candidate> order, long bytes) {
        List<Candidate> candidates = new ArrayList<>();
        for (ConstantSlot<?> slot : cached) {
            candidates.add(new Candidate(slot, slot.lastUse));
        }
        candidates.sort(order);
        List<ConstantSlot<?>> selected = new ArrayList<>();
        long freed = 0;
        for (Candidate candidate : candidates) {
            if (freed >= bytes) {
                break;
            }
            selected.add(candidate.slot);
            freed += candidate.slot.bytes;
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
