package dev.granary.cli.output;

import dev.granary.cache.EntryCatalog;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.function.Consumer;

/** Counts listed entries and keeps the first of them by an order, at most so many: a bucket may have more than memory holds. Not thread-safe. */
public final class BoundedEntryList implements Consumer<EntryCatalog.Listed> {
    /** So many are kept where no limit is given. One takes some 200 bytes, and twice that when it is printed. */
    public static final int MOST = 100_000;

    private final int limit;
    private final Comparator<EntryCatalog.Listed> order;
    private final PriorityQueue<EntryCatalog.Listed> kept;
    private long entries;
    private long bytes;

    /** Keeps the first {@code limit}, and never more than {@link #MOST}. */
    public BoundedEntryList(Comparator<EntryCatalog.Listed> order, int limit) {
        this.limit = Math.min(limit, MOST);
        this.order = order;
        this.kept = new PriorityQueue<>(order.reversed());
    }

    @Override
    public void accept(EntryCatalog.Listed entry) {
        entries++;
        bytes = EntryFormatter.sumOf(bytes, entry.bytes());
        if (kept.size() < limit) {
            kept.add(entry);
        } else if (order.compare(entry, kept.element()) < 0) {
            kept.remove();
            kept.add(entry);
        }
    }

    /** How many were told. */
    public long entries() {
        return entries;
    }

    /** Their bytes. */
    public long bytes() {
        return bytes;
    }

    /** Those that were kept, in their order. */
    public List<EntryCatalog.Listed> kept() {
        return kept.stream().sorted(order).toList();
    }
}
