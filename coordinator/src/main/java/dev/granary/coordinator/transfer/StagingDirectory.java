package dev.granary.coordinator.transfer;

import dev.granary.cache.support.FileTrees;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.random.RandomGenerator;

/** Staging files and directories: entries that are being written into a tree. */
final class StagingDirectory {
    /** The age after which a staging file has no writer. */
    private static final Duration STALE_AGE = Duration.ofHours(1);

    private StagingDirectory() {}

    /** Returns a new name for a staging file. */
    static Path name(Path root, RandomGenerator random) {
        return root.resolve(TreeNames.STAGING_PREFIX + Long.toHexString(random.nextLong()));
    }

    /** Removes the staging files of interrupted exports. */
    static void removeStale(Path root) throws IOException {
        long staleBefore = System.currentTimeMillis() - STALE_AGE.toMillis();
        try (DirectoryStream<Path> left =
                Files.newDirectoryStream(root, TreeNames.STAGING_PREFIX + "*")) {
            for (Path staging : left) {
                if (RegularFiles.attributes(staging).lastModifiedTime().toMillis() < staleBefore) {
                    FileTrees.delete(staging);
                }
            }
        }
    }
}
