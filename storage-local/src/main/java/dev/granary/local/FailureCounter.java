package dev.granary.local;

import dev.granary.cache.support.Warnings;

import java.nio.file.Path;
import java.util.concurrent.atomic.LongAdder;

/** Counter of failed file operations of one directory; warns once per consequence. Thread-safe. */
final class FailureCounter {
    private final Path directory;
    private final LongAdder count = new LongAdder();

    FailureCounter(Path directory) {
        this.directory = directory;
    }

    /** Counts a failure; {@code consequence} is a sentence without its full stop. */
    void record(String consequence, Throwable cause) {
        count.increment();
        Warnings.warn(
                consequence + " " + directory,
                consequence + " (" + cause
                        + "). Further failures of this kind are counted, not logged.");
    }

    long count() {
        return count.sum();
    }
}
