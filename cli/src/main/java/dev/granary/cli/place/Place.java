package dev.granary.cli.place;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.StoreResult;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;

/**
 * Place of entries that a command line names: a directory or a bucket. It is the source or the
 * destination of a copy. Thread-safe.
 */
public abstract sealed class Place implements AutoCloseable permits DirectoryPlace, BucketPlace {
    private final String name;
    private final EntryCatalog catalog;

    Place(String name, EntryCatalog catalog) {
        this.name = name;
        this.catalog = catalog;
    }

    /** Returns the text that names the place. */
    public final String name() {
        return name;
    }

    /** Returns the catalogue of its entries. */
    public final EntryCatalog catalog() {
        return catalog;
    }

    /** Returns the number of entries that a search may read; in a bucket each is a request. */
    public abstract int maxSearched();

    /**
     * Reads and verifies all of {@code wanted}, and passes each to {@code copier} once, on several
     * threads. Entries that were removed meanwhile are left out.
     */
    public abstract void read(List<EntryCatalog.Listed> wanted, EntryCopier copier)
            throws InterruptedException;

    /** Prepares this place for {@link #contains}. */
    public void prepare() throws IOException {}

    /** Returns whether this place has an entry; one that is known to be damaged does not count. */
    abstract boolean contains(EntryCatalog.Listed entry);

    /** Returns the number of stores at once that are fastest. */
    abstract int writers();

    /**
     * Stores an entry, whose bytes need not be valid after the call.
     *
     * @param whenDone is called with the result, at the latest by {@link #finish}
     */
    abstract void store(Entry entry, Consumer<StoreResult> whenDone);

    /** Completes the stores so far. */
    void finish() {}

    @Override
    public void close() {}

    /** Returns all entries of a catalogue, most recently used first. */
    public static List<EntryCatalog.Listed> entries(EntryCatalog catalog) throws IOException {
        List<EntryCatalog.Listed> entries = new ArrayList<>();
        catalog.list(entries::add);
        entries.sort(
                Comparator.comparingLong(EntryCatalog.Listed::lastUsedMillis).reversed());
        return entries;
    }

    /**
     * Returns true for entries that another version of Granary wrote: they belong to that version
     * and are not damaged.
     */
    public static boolean isOtherVersion(DamageKind damage) {
        return damage == DamageKind.TOO_OLD || damage == DamageKind.TOO_NEW;
    }

    /** Returns the name of a kind of damage, such as {@code too old}. */
    public static String name(DamageKind damage) {
        return damage.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }

    /** Adds a number of entries to a report, with their length in bytes. */
    public static Report add(String name, long entries, long bytes, Report report) {
        return report.field(name, entries, Units.entries(entries, bytes))
                .data(name + "Bytes", bytes);
    }

    /** Returns the sum of the lengths of entries. */
    public static long bytes(List<EntryCatalog.Listed> entries) {
        return entries.stream().mapToLong(EntryCatalog.Listed::bytes).reduce(0, Units::sum);
    }
}
