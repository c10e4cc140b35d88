package dev.granary.cli.place;

import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.ReportTable;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.IntConsumer;
import java.util.function.Predicate;

/** Verifier that reads every listed entry and counts the results. Not thread-safe. */
public final class EntryVerifier {
    private static final String SOUND = "sound";
    private static final int MAX_LISTED = 20;

    private final Map<String, Count> found = new LinkedHashMap<>(Map.of(SOUND, Count.NONE));
    private final List<Bad> bad = new ArrayList<>();
    private Count removed = Count.NONE;
    private boolean isHealthy = true;

    private EntryVerifier() {}

    /**
     * A number of entries with the sum of their stored lengths.
     *
     * @param entries the number of entries
     * @param bytes their stored length in bytes
     */
    public record Count(long entries, long bytes) {
        /** No entries. */
        public static final Count NONE = new Count(0, 0);

        /** Returns this count with one more entry. */
        public Count plus(EntryCatalog.Listed listed) {
            return new Count(entries + 1, bytes + listed.bytes());
        }
    }

    /**
     * An entry that is not sound.
     *
     * @param listed the entry
     * @param found the kind of damage in lower case, or {@code unreadable}
     * @param detail the details, for people
     * @param isRemoved true if the entry was removed
     */
    public record Bad(EntryCatalog.Listed listed, String found, String detail, boolean isRemoved) {}

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

    /**
     * Verifies all of {@code listed}.
     *
     * @param catalog the catalog of the entries
     * @param listed the entries
     * @param repair removes a damaged entry; returns true if it did
     * @param progress receives the position of each entry before it is read
     */
    public static EntryVerifier all(
            EntryCatalog catalog,
            List<EntryCatalog.Listed> listed,
            Predicate<EntryCatalog.Listed> repair,
            IntConsumer progress) {
        EntryVerifier verifier = new EntryVerifier();
        for (int i = 0; i < listed.size(); i++) {
            progress.accept(i);
            try (Arena memory = Arena.ofConfined()) {
                verifier.count(listed.get(i), catalog.read(listed.get(i), memory), repair);
            }
        }
        return verifier;
    }

    private void count(
            EntryCatalog.Listed listed, LoadResult read, Predicate<EntryCatalog.Listed> repair) {
        switch (read) {
            case LoadResult.Hit _ -> count(SOUND, listed);
            case LoadResult.Absent _ -> {} // evicted meanwhile
            case LoadResult.Damaged damage -> {
                boolean isOther = isOtherVersion(damage.damage());
                boolean isRemoved = !isOther && repair.test(listed);
                removed = isRemoved ? removed.plus(listed) : removed;
                isHealthy &= isOther || isRemoved;
                count(name(damage.damage()), listed);
                bad.add(new Bad(listed, name(damage.damage()), damage.detail(), isRemoved));
            }
            case LoadResult.Unavailable lost -> {
                isHealthy = false;
                count("unreadable", listed);
                bad.add(new Bad(listed, "unreadable", lost.cause(), false));
            }
        }
    }

    private void count(String kind, EntryCatalog.Listed listed) {
        found.merge(kind, Count.NONE.plus(listed), (old, _) -> old.plus(listed));
    }

    /**
     * Returns the entries that were found so: {@code sound}, {@code unreadable}, or a kind of
     * damage, before any repair.
     */
    public Count found(String kind) {
        return found.getOrDefault(kind, Count.NONE);
    }

    /** Returns the damaged entries that were removed. */
    public Count removed() {
        return removed;
    }

    /** Returns every entry that is not sound, including those of another version. */
    public List<Bad> bad() {
        return List.copyOf(bad);
    }

    /** Returns true if no damaged or unreadable entry is left. */
    public boolean isHealthy() {
        return isHealthy;
    }

    /** Adds the counts, and each entry that is not sound, to a report. */
    public void addTo(Report report) {
        ReportTable kinds = report.table("found", "found", "entries", "bytes");
        found.forEach(
                (kind, count) -> kinds.row(kind, count.entries(), Report.bytes(count.bytes())));
        if (!bad.isEmpty()) {
            report.line("");
        }
        ReportTable damaged = report.table(
                        "damaged", "id", "-target", "-bytes", "<found", "~where", "-removed")
                .limit(MAX_LISTED);
        bad.forEach(each -> damaged.row(
                each.listed().hash(),
                each.listed().namespace(),
                each.listed().bytes(),
                each.found(),
                each.detail(),
                each.isRemoved()));
        report.data("removedEntries", removed.entries()).data("removedBytes", removed.bytes());
    }
}
