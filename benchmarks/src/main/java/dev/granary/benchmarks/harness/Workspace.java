package dev.granary.benchmarks.harness;

import dev.granary.cache.support.FileTrees;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The directory that a benchmark writes in, and its messages of progress. It is deleted at the end,
 * also if the benchmark is interrupted.
 */
public abstract class Workspace implements AutoCloseable {
    private static final int DELETE_ATTEMPTS = 20;
    private static final long DELETE_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Path directory;
    private final PrintWriter progress;
    private final Thread hook = new Thread(this::deleteQuietly);

    /** Creates a directory under {@code parent}, which is created if it is missing. */
    protected Workspace(Path parent, String prefix, PrintWriter progress) throws IOException {
        this.directory = Files.createTempDirectory(Files.createDirectories(parent), prefix)
                .toAbsolutePath();
        this.progress = progress;
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /** Returns the directory. */
    protected final Path directory() {
        return directory;
    }

    /** Prints the name of a step that begins. */
    public final void say(String step) {
        tell(step + " ...");
    }

    /** Prints a line. */
    public final void tell(String line) {
        progress.println(line);
        progress.flush();
    }

    /**
     * Deletes everything at the end, in one go: after the deletion of many files, some file systems
     * create files slowly for a while.
     */
    @Override
    public void close() throws IOException {
        say("deleting what was written");
        FileTrees.delete(directory);
        Runtime.getRuntime().removeShutdownHook(hook);
    }

    /** Deletes the directory while threads of an interrupted measure may still write. */
    private void deleteQuietly() {
        for (int attempt = 1; attempt <= DELETE_ATTEMPTS && Files.exists(directory); attempt++) {
            try {
                FileTrees.delete(directory);
            } catch (IOException e) {
                LockSupport.parkNanos(DELETE_PAUSE_NANOS);
            }
        }
        if (Files.exists(directory)) {
            tell("not deleted: " + directory);
        }
    }
}
