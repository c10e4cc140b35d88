package dev.granary.coordinator.transfer;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
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
                    remove(staging);
                }
            }
        }
    }

    /** Removes a file, or a directory with its content; follows no links. */
    static void remove(Path staging) throws IOException {
        if (!RegularFiles.isDirectory(staging)) {
            Files.deleteIfExists(staging);
            return;
        }
        Files.walkFileTree(staging, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                    throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException cause)
                    throws IOException {
                if (cause instanceof NoSuchFileException) {
                    return FileVisitResult.CONTINUE;
                }
                throw cause;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException cause)
                    throws IOException {
                if (cause != null) {
                    throw cause;
                }
                Files.delete(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
