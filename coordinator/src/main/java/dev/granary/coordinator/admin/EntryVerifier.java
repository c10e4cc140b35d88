package dev.granary.coordinator.admin;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import java.lang.foreign.Arena;

/**
 * The whole check of a listed entry: beyond the checksums of every look-up, the SHA-256 of the content, and that it lies where it is looked
 * for.
 */
public final class EntryVerifier {
    private EntryVerifier() {}

    /** Reads and checks an entry, which may be used as long as {@code memory} lives. */
    public static LoadResult read(EntryCatalog catalog, EntryCatalog.Listed listed, Arena memory) {
        LoadResult read = catalog.read(listed, memory);
        return read instanceof LoadResult.Hit(Entry entry) ? check(entry, listed, read) : read;
    }

    private static LoadResult check(Entry entry, EntryCatalog.Listed listed, LoadResult hit) {
        if (!entry.id().target().path().equals(listed.namespace())) {
            return new LoadResult.Damaged(DamageKind.WRONG_KEY, "a sound entry, but of another target");
        }
        return Entry.contentHash(entry.id(), entry.binaries()).equals(entry.contentHash())
                ? hit
                : new LoadResult.Damaged(DamageKind.CORRUPT, "the content does not match its SHA-256");
    }
}
