package dev.granary.coordinator.process;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/** A new directory that goes, with all that is in it, when it is closed. */
public final class TemporaryDirectory implements AutoCloseable {
    private final Path path;

    /**
     * Makes it, among the system's temporary files.
     *
     * @param prefix how its name begins
     * @throws IOException if it cannot be made
     */
    public TemporaryDirectory(String prefix) throws IOException {
        this.path = Files.createTempDirectory(prefix);
    }

    /** Where it is. */
    public Path path() {
        return path;
    }

    @Override
    public void close() throws IOException {
        Files.walkFileTree(path, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path visited, @Nullable IOException failure) throws IOException {
                Files.delete(visited);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
