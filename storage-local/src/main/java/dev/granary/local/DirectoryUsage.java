package dev.granary.local;

import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.IndexSnapshot;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.StoreLayout;
import dev.granary.local.store.SegmentStore;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Counts of the contents of a local directory. Immutable.
 *
 * @param entries number of entries in the index
 * @param entryBytes bytes of these entries, each rounded up to whole units
 * @param reclaimableBytes bytes that the next sweep can reclaim
 * @param overheadBytes bytes of the index and the state page
 * @param foreign files in the store's directories that the store did not create, at most
 *     {@value #NAMED}
 */
public record DirectoryUsage(
        long entries,
        long entryBytes,
        long reclaimableBytes,
        long overheadBytes,
        List<Path> foreign) {
    /** Maximum number of foreign files that are listed. */
    public static final int NAMED = 100;

    static DirectoryUsage of(SegmentStore store) throws IOException {
        OpenStoreFiles files = store.countedFiles();
        if (files == null) {
            return new DirectoryUsage(0, 0, 0, 0, List.of());
        }
        IndexSnapshot snapshot = IndexSnapshot.of(files.index());
        long live = snapshot.allUnits() * EntryLocation.UNIT;
        StoreLayout layout = store.layout();
        List<Path> foreign = new ArrayList<>();
        long[] overhead = {0};
        StoreLayout.forEachChild(layout.root(), file -> {
            if (file.equals(layout.state()) || StoreLayout.generation(file).isPresent()) {
                overhead[0] += size(file);
            } else if (!file.equals(layout.segments())) {
                addForeign(foreign, file);
            }
        });
        StoreLayout.forEachChild(layout.segments(), file -> {
            if (StoreLayout.segmentNumber(file).isEmpty()
                    || !Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
                addForeign(foreign, file);
            }
        });
        long disk = files.state().diskUnits() * EntryLocation.UNIT;
        return new DirectoryUsage(
                snapshot.size(), live, Math.max(0, disk - live), overhead[0], List.copyOf(foreign));
    }

    private static long size(Path file) throws IOException {
        try {
            return Files.size(file);
        } catch (NoSuchFileException e) {
            return 0; // an index that was replaced in the meantime
        }
    }

    private static void addForeign(List<Path> foreign, Path file) {
        if (foreign.size() < NAMED) {
            foreign.add(file);
        }
    }
}
