package dev.granary.cli.process;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A new directory that goes, with all that is in it, when it is closed, or when this process is told to end (Ctrl-C, SIGTERM). Then the processes that
 * this one has started are ended first, since they may work in it. Thread-safe.
 */
public final class TemporaryDirectory implements AutoCloseable {
    private static final int ATTEMPTS = 5;
    private static final long CHILD_SECONDS = 2;

    private final Path path;
    private final Thread atEnd = new Thread(this::removeAtEnd, "granary-temporary");

    /**
     * Makes it, among the system's temporary files.
     *
     * @param prefix how its name begins
     * @throws IOException if it cannot be made
     */
    public TemporaryDirectory(String prefix) throws IOException {
        this.path = Files.createTempDirectory(prefix);
        Runtime.getRuntime().addShutdownHook(atEnd);
    }

    /** Where it is. */
    public Path path() {
        return path;
    }

    @Override
    public void close() throws IOException {
        try {
            Runtime.getRuntime().removeShutdownHook(atEnd);
        } catch (IllegalStateException e) {
            return; // the process ends, and the directory goes with it
        }
        remove();
    }

    private void removeAtEnd() {
        ProcessHandle.current().descendants().forEach(TemporaryDirectory::end);
        for (int attempt = 1; attempt <= ATTEMPTS && Files.exists(path); attempt++) {
            try {
                remove();
            } catch (IOException e) {
                // this process's own threads still write there: once more
            }
        }
    }

    private static void end(ProcessHandle child) {
        child.destroyForcibly();
        try {
            child.onExit().get(CHILD_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            // the directory is removed as far as that goes
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void remove() throws IOException {
        Files.walkFileTree(path, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.deleteIfExists(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path visited, @Nullable IOException failure) throws IOException {
                Files.deleteIfExists(visited);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
