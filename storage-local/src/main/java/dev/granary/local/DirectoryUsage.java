package dev.granary.local;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Contents of a local directory at one moment. Immutable.
 *
 * @param entries number of entries
 * @param entryBytes length of these entries in bytes
 * @param diskBytes bytes that these entries take on the disk, in blocks of 4 KiB
 * @param unfinished number of files that are being written, or were left by ended processes; a
 *     sweep removes them after an hour
 * @param unfinishedBytes length of these files in bytes
 * @param foreign other files in the tree, at most {@value #NAMED}; they are ignored
 * @param hasFormerTree whether there is a tree of the former layout, which this version ignores
 */
public record DirectoryUsage(
        long entries,
        long entryBytes,
        long diskBytes,
        long unfinished,
        long unfinishedBytes,
        List<Path> foreign,
        boolean hasFormerTree) {
    /** Maximum number of foreign files that are listed. */
    public static final int NAMED = 100;

    static DirectoryUsage of(EntryFiles files, Path directory) throws IOException {
        long[] entries = new long[3];
        long[] unfinished = new long[2];
        List<Path> foreign = new ArrayList<>();
        files.walk((kind, file, attributes) -> {
            switch (kind) {
                case ENTRY -> {
                    entries[0]++;
                    entries[1] += attributes.size();
                    entries[2] += CapacitySweeper.onDisk(attributes.size());
                }
                case UNFINISHED -> {
                    unfinished[0]++;
                    unfinished[1] += attributes.size();
                }
                case FOREIGN -> {
                    if (foreign.size() < NAMED) {
                        foreign.add(file);
                    }
                }
            }
        });
        return new DirectoryUsage(
                entries[0],
                entries[1],
                entries[2],
                unfinished[0],
                unfinished[1],
                List.copyOf(foreign),
                CapacitySweeper.hasFormerTree(directory));
    }
}
