package dev.granary.coordinator.transfer;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.coordinator.admin.EntryVerifier;
import dev.granary.coordinator.admin.TierVerifier;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;

/** Exports listed entries into a tree, and counts what that does; what is damaged stays out. Not thread-safe. */
public final class EntryExporter {
    private final TreeWriter tree;
    private final List<TierVerifier.Bad> bad = new ArrayList<>();
    private long written;
    private long replaced;
    private long present;
    private long otherVersion;
    private long writtenBytes;

    /** Nothing exported yet; {@code tree} takes the entries. */
    public EntryExporter(TreeWriter tree) {
        this.tree = tree;
    }

    /**
     * Exports all of {@code listed}.
     *
     * @param catalog where they are
     * @param listed which
     * @param progress told the number of each entry before it is read
     * @throws IOException if the tree cannot be written; what was exported before stays
     */
    public void all(EntryCatalog catalog, List<EntryCatalog.Listed> listed, IntConsumer progress) throws IOException {
        for (int i = 0; i < listed.size(); i++) {
            progress.accept(i);
            EntryCatalog.Listed next = listed.get(i);
            try (Arena memory = Arena.ofConfined()) {
                switch (EntryVerifier.read(catalog, next, memory)) {
                    case LoadResult.Hit(Entry entry) -> write(entry);
                    case LoadResult.Absent _ -> {} // evicted meanwhile
                    case LoadResult.Damaged found when TierVerifier.isOtherVersion(found.damage()) -> otherVersion++;
                    case LoadResult.Damaged found ->
                        bad.add(new TierVerifier.Bad(next, TierVerifier.name(found.damage()), found.detail(), TierVerifier.Fate.LEFT));
                    case LoadResult.Unavailable lost -> bad.add(new TierVerifier.Bad(next, "unreadable", lost.cause(), TierVerifier.Fate.LEFT));
                }
            }
        }
    }

    private void write(Entry entry) throws IOException {
        TreeWriter.Outcome outcome = tree.write(entry);
        switch (outcome) {
            case WRITTEN -> written++;
            case REPLACED -> replaced++;
            case PRESENT -> present++;
        }
        if (outcome != TreeWriter.Outcome.PRESENT) {
            writtenBytes += entry.id().length() + entry.binaries().byteSize();
        }
    }

    /** Entries that were not in the tree. */
    public long written() {
        return written;
    }

    /** Entries of which the tree had another version, or a damaged one. */
    public long replaced() {
        return replaced;
    }

    /** Entries that were there already. */
    public long present() {
        return present;
    }

    /** Entries of another version of Granary, left to that version. */
    public long otherVersion() {
        return otherVersion;
    }

    /** The length of the keys and binaries that were written, in bytes. */
    public long writtenBytes() {
        return writtenBytes;
    }

    /** Each entry that could not be exported. */
    public List<TierVerifier.Bad> bad() {
        return List.copyOf(bad);
    }
}
