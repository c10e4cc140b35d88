package dev.granary.coordinator.admin;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;

import java.lang.foreign.Arena;

/**
 * Complete verification of a listed entry: beside the checksums of every lookup, the SHA-256 of the
 * content, and the target under which it is stored.
 */
public final class EntryVerifier {
    private EntryVerifier() {}

    /** Reads and verifies an entry, which is valid as long as {@code memory} is open. */
    public static LoadResult read(EntryCatalog catalog, EntryCatalog.Listed listed, Arena memory) {
        LoadResult read = catalog.read(listed, memory);
        return read instanceof LoadResult.Hit(Entry entry) ? check(entry, listed, read) : read;
    }

    private static LoadResult check(Entry entry, EntryCatalog.Listed listed, LoadResult hit) {
        if (!entry.id().target().path().equals(listed.namespace())) {
            return new LoadResult.Damaged(
                    DamageKind.WRONG_KEY, "a sound entry, but of another target");
        }
        return Entry.contentHash(entry.id(), entry.binaries()).equals(entry.contentHash())
                ? hit
                : new LoadResult.Damaged(
                        DamageKind.CORRUPT, "the content does not match its SHA-256");
    }
}
