package dev.granary.cache.support;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

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
        List<Path> list = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                list.add(file);
            }
        } catch (NoSuchFileException e) {
            return List.of(); // it has disappeared
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return list;
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
