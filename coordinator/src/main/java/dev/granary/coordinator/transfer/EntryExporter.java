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

/**
 * Exporter of listed entries into a tree, with counters; damaged entries are not exported. Not
 * thread-safe.
 */
public final class EntryExporter {
    private final TreeWriter tree;
    private final List<TierVerifier.Bad> bad = new ArrayList<>();
    private long written;
    private long replaced;
    private long present;
    private long otherVersion;
    private long writtenBytes;

    /** Creates an exporter into {@code tree}. */
    public EntryExporter(TreeWriter tree) {
        this.tree = tree;
    }

    /**
     * Exports all of {@code listed}.
     *
     * @param catalog the catalog of the entries
     * @param listed the entries
     * @param progress receives the position of each entry before it is read
     * @throws IOException if the tree cannot be written; entries that were exported before remain
     */
    public void all(EntryCatalog catalog, List<EntryCatalog.Listed> listed, IntConsumer progress)
            throws IOException {
        for (int i = 0; i < listed.size(); i++) {
            progress.accept(i);
            EntryCatalog.Listed current = listed.get(i);
            try (Arena memory = Arena.ofConfined()) {
                switch (EntryVerifier.read(catalog, current, memory)) {
                    case LoadResult.Hit(Entry entry) -> write(entry);
                    case LoadResult.Absent _ -> {} // evicted meanwhile
                    case LoadResult.Damaged damage
                    when TierVerifier.isOtherVersion(damage.damage()) -> otherVersion++;
                    case LoadResult.Damaged damage ->
                        bad.add(new TierVerifier.Bad(
                                current,
                                TierVerifier.name(damage.damage()),
                                damage.detail(),
                                TierVerifier.Action.LEFT));
                    case LoadResult.Unavailable lost ->
                        bad.add(new TierVerifier.Bad(
                                current, "unreadable", lost.cause(), TierVerifier.Action.LEFT));
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

    /** Returns the number of entries that were not yet in the tree. */
    public long written() {
        return written;
    }

    /** Returns the number of entries that replaced a damaged or different version in the tree. */
    public long replaced() {
        return replaced;
    }

    /** Returns the number of entries that the tree had already. */
    public long present() {
        return present;
    }

    /**
     * Returns the number of entries that another version of Granary wrote, which are not exported.
     */
    public long otherVersion() {
        return otherVersion;
    }

    /** Returns the length of the written keys and binaries in bytes. */
    public long writtenBytes() {
        return writtenBytes;
    }

    /** Returns the entries that could not be exported. */
    public List<TierVerifier.Bad> bad() {
        return List.copyOf(bad);
    }
}
