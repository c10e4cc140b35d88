package dev.granary.cli.output;

import dev.granary.cache.EntryCatalog;

import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.function.Consumer;

/**
 * Counter of listed entries that keeps a limited number of them, the first by an order. A bucket
 * may have more entries than fit in memory. Not thread-safe.
 */
public final class BoundedEntryList implements Consumer<EntryCatalog.Listed> {
    /** The highest limit. An entry takes about 200 bytes, and twice that when it is printed. */
    public static final int MAX_ENTRIES = 100_000;

    private final int limit;
    private final Comparator<EntryCatalog.Listed> order;
    private final PriorityQueue<EntryCatalog.Listed> firstEntries;
    private long entries;
    private long bytes;

    /** Creates a list of the first {@code limit} entries, and at most {@link #MAX_ENTRIES}. */
    public BoundedEntryList(Comparator<EntryCatalog.Listed> order, int limit) {
        this.limit = Math.min(limit, MAX_ENTRIES);
        this.order = order;
        this.firstEntries = new PriorityQueue<>(order.reversed());
    }

    @Override
    public void accept(EntryCatalog.Listed entry) {
        entries++;
        bytes = Units.sum(bytes, entry.bytes());
        if (firstEntries.size() < limit) {
            firstEntries.add(entry);
        } else if (order.compare(entry, firstEntries.element()) < 0) {
            firstEntries.remove();
            firstEntries.add(entry);
        }
    }

    /** Returns the number of all listed entries. */
    public long entries() {
        return entries;
    }

    /** Returns true if entries were left out because of {@link #MAX_ENTRIES}. */
    public boolean exceedsMaximum() {
        return limit == MAX_ENTRIES && entries > MAX_ENTRIES;
    }

    /** Returns the sum of their sizes, in bytes. */
    public long bytes() {
        return bytes;
    }

    /** Returns the entries that were kept, sorted. */
    public List<EntryCatalog.Listed> sorted() {
        return firstEntries.stream().sorted(order).toList();
    }
}
