package dev.granary.cli;

import dev.granary.cache.Catalog;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.function.Consumer;

/** Counts listed entries and keeps the first of them by an order, at most so many: a bucket may have more than memory holds. Not thread-safe. */
final class FirstEntries implements Consumer<Catalog.Listed> {
    /** So many are kept where no limit is given. One takes some 200 bytes, and twice that when it is printed. */
    static final int MOST = 100_000;

    private final int limit;
    private final Comparator<Catalog.Listed> order;
    private final PriorityQueue<Catalog.Listed> kept;
    private long entries;
    private long bytes;

    /** Keeps the first {@code limit}, and never more than {@link #MOST}. */
    FirstEntries(Comparator<Catalog.Listed> order, int limit) {
        this.limit = Math.min(limit, MOST);
        this.order = order;
        this.kept = new PriorityQueue<>(order.reversed());
    }

    @Override
    public void accept(Catalog.Listed entry) {
        entries++;
        bytes = ListedEntries.sumOf(bytes, entry.bytes());
        if (kept.size() < limit) {
            kept.add(entry);
        } else if (order.compare(entry, kept.element()) < 0) {
            kept.remove();
            kept.add(entry);
        }
    }

    /** How many were told. */
    long entries() {
        return entries;
    }

    /** Their bytes. */
    long bytes() {
        return bytes;
    }

    /** Those that were kept, in their order. */
    List<Catalog.Listed> kept() {
        return kept.stream().sorted(order).toList();
    }
}
