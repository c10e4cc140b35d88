package dev.granary.cli.kernel;

import dev.granary.cache.support.FileTrees;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * A temporary directory that is deleted with its content when it is closed, or when this process is
 * terminated (Ctrl-C, SIGTERM). On termination the child processes are killed first, since they may
 * use the directory. Thread-safe.
 */
public final class TemporaryDirectory implements AutoCloseable {
    private static final int ATTEMPTS = 5;
    private static final long CHILD_SECONDS = 2;

    private static volatile boolean isTerminating;

    private final Path path;
    private final Thread shutdownHook = new Thread(this::deleteAtExit, "granary-temporary");

    /** Creates the directory among the system's temporary files. */
    public TemporaryDirectory(String prefix) throws IOException {
        this.path = Files.createTempDirectory(prefix);
        Runtime.getRuntime().addShutdownHook(shutdownHook);
    }

    public Path path() {
        return path;
    }

    @Override
    public void close() throws IOException {
        try {
            Runtime.getRuntime().removeShutdownHook(shutdownHook);
        } catch (IllegalStateException e) {
            return; // the shutdown hook deletes the directory
        }
        FileTrees.delete(path);
    }

    /** Returns whether this process is being terminated, and kills its child processes. */
    static boolean isTerminating() {
        return isTerminating;
    }

    private void deleteAtExit() {
        isTerminating = true;
        ProcessHandle.current().descendants().forEach(child -> {
            child.destroyForcibly();
            child.onExit()
                    .completeOnTimeout(child, CHILD_SECONDS, TimeUnit.SECONDS)
                    .join();
        });
        for (int attempt = 1; attempt <= ATTEMPTS && Files.exists(path); attempt++) {
            try {
                FileTrees.delete(path);
            } catch (IOException e) {
                // threads of this process may still write: try again
            }
        }
    }
}
