package dev.granary.cache.constant;

import dev.granary.cache.constant.ConstantTensorCache.Limit;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * A model of one cache: a list of entries, the least recently used first, without threads, memory
 * or optimization.
 */
final class ConstantModel {
    /** A cached or promised key. */
    static final class Entry {
        final ConstantTensorCache.Key<?> key;
        final long bytes;
        final boolean isReserved;
        boolean isMade;
        long cost;

        Entry(ConstantTensorCache.Key<?> key, long bytes, boolean isReserved) {
            this.key = key;
            this.bytes = bytes;
            this.isReserved = isReserved;
        }
    }

    private final List<Entry> entries = new ArrayList<>();
    private Limit limit = Limit.DEFAULT;

    @Nullable
    Entry find(ConstantTensorCache.Key<?> key) {
        return entries.stream()
                .filter(entry -> entry.key.equals(key))
                .findFirst()
                .orElse(null);
    }

    long cachedBytes() {
        return entries.stream()
                .filter(entry -> entry.isMade)
                .mapToLong(entry -> entry.bytes)
                .sum();
    }

    long promised() {
        return entries.stream()
                .filter(entry -> !entry.isMade && entry.isReserved)
                .mapToLong(entry -> entry.bytes)
                .sum();
    }

    long tensors() {
        return entries.stream().filter(entry -> entry.isMade).count();
    }

    Limit limit() {
        return limit;
    }

    /** Records a use. */
    void use(Entry entry) {
        entries.remove(entry);
        entries.add(entry);
    }

    /**
     * Records a miss and returns the entry of the promise, or null if the promise is private to the
     * caller.
     */
    @Nullable
    Entry promise(ConstantTensorCache.Key<?> key, long bytes) {
        if (bytes > limit.bytes()) {
            return null;
        }
        boolean fits = fits(bytes);
        if (!fits && limit.policy() == ConstantPolicy.NO_EVICT) {
            return null;
        }
        if (!fits && limit.policy() == ConstantPolicy.LRU && !evictOldest(bytes)) {
            return null;
        }
        Entry entry = new Entry(key, bytes, fits || limit.policy() == ConstantPolicy.LRU);
        entries.addFirst(entry);
        return entry;
    }

    /**
     * Records the fulfilment of a promise.
     *
     * @return true if the tensor is cached
     */
    boolean fulfil(@Nullable Entry entry, long cost) {
        if (entry == null || !entries.contains(entry)) {
            return false;
        }
        boolean fits = entry.isReserved
                || fits(entry.bytes)
                || switch (limit.policy()) {
                    case NO_EVICT -> false;
                    case LRU -> evictOldest(entry.bytes);
                    case COST -> evictCheapest(entry.bytes, cost);
                };
        if (!fits) {
            entries.remove(entry);
            return false;
        }
        entry.isMade = true;
        entry.cost = cost;
        use(entry);
        return true;
    }

    void remove(@Nullable Entry entry) {
        if (entry != null) {
            entries.remove(entry);
        }
    }

    void removeContext(Object context) {
        entries.removeIf(entry -> entry.key.context().equals(context));
    }

    void change(Limit newLimit) {
        if (newLimit.megabytes() < limit.megabytes()) { // unlimited is the highest
            entries.clear();
        }
        limit = newLimit;
    }

    private boolean fits(long bytes) {
        return cachedBytes() + promised() + bytes <= limit.bytes();
    }

    private boolean evictOldest(long bytes) {
        List<Entry> made = entries.stream().filter(entry -> entry.isMade).toList();
        if (promised() + bytes > limit.bytes()) {
            return false;
        }
        for (Entry oldest : made) {
            if (!fits(bytes)) {
                entries.remove(oldest);
            }
        }
        return true;
    }

    private boolean evictCheapest(long bytes, long cost) {
        if (promised() + bytes > limit.bytes()) {
            return false;
        }
        List<Entry> before = List.copyOf(entries);
        List<Entry> gone = new ArrayList<>();
        before.stream()
                .filter(entry -> entry.isMade)
                .sorted(Comparator.comparingDouble(entry -> (double) entry.cost / entry.bytes))
                .forEach(cheap -> {
                    if (!fits(bytes)) {
                        entries.remove(cheap);
                        gone.add(cheap);
                    }
                });
        // It may stay if a later one frees enough.
        for (Entry expensive : List.copyOf(gone).reversed()) {
            if (fits(bytes + expensive.bytes)) {
                gone.remove(expensive);
                entries.clear();
                entries.addAll(before);
                entries.removeAll(gone);
            }
        }
        if (gone.stream().mapToLong(entry -> entry.cost).sum() >= cost) {
            entries.clear();
            entries.addAll(before);
            return false;
        }
        return true;
    }
}
