package dev.granary.coordinator.transfer;

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
import org.jspecify.annotations.Nullable;

/** What is being written into a tree and has not its name yet. */
final class StagingDirectory {
    /** What was begun so long ago has no writer any more. */
    private static final Duration STALE = Duration.ofHours(1);

    private StagingDirectory() {}

    /** A name that nothing has. */
    static Path name(Path root, RandomGenerator random) {
        return root.resolve(TreeNames.ASIDE + Long.toHexString(random.nextLong()));
    }

    /** Removes what interrupted exports left. */
    static void removeStale(Path root) throws IOException {
        long stale = System.currentTimeMillis() - STALE.toMillis();
        try (DirectoryStream<Path> left = Files.newDirectoryStream(root, TreeNames.ASIDE + "*")) {
            for (Path aside : left) {
                if (RegularFiles.attributes(aside).lastModifiedTime().toMillis() < stale) {
                    remove(aside);
                }
            }
        }
    }

    /** Removes a file or a directory with all that is in it; follows no link. */
    static void remove(Path aside) throws IOException {
        if (!RegularFiles.isDirectory(aside)) {
            Files.deleteIfExists(aside);
            return;
        }
        Files.walkFileTree(aside, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException cause) throws IOException {
                if (cause instanceof NoSuchFileException) {
                    return FileVisitResult.CONTINUE;
                }
                throw cause;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException cause) throws IOException {
                if (cause != null) {
                    throw cause;
                }
                Files.delete(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
