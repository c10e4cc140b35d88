package dev.granary.cache.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Operations on directories with their content. */
public final class FileTrees {
    private FileTrees() {}

    /**
     * Returns the files in a directory, in no particular order; none if there is no such directory.
     */
    public static List<Path> list(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(directory)) {
            return files.toList();
        } catch (NoSuchFileException e) {
            return List.of(); // it has disappeared
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /**
     * Deletes a file, or a directory with its content. Follows no link. Files that are missing, or
     * disappear meanwhile, count as deleted.
     *
     * @throws IOException at the first file that cannot be deleted; the remaining ones stay
     */
    public static void delete(Path root) throws IOException {
        if (Files.isDirectory(root, LinkOption.NOFOLLOW_LINKS)) {
            for (Path file : list(root)) {
                delete(file);
            }
        }
        Files.deleteIfExists(root);
    }
}
