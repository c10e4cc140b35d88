package dev.granary.benchmarks.bucket.warm;

import java.io.IOException;
import java.nio.file.Path;

/** A way to copy the workload from the bucket into a directory. */
interface DirectoryFiller {
    /** Returns the name on the terminal. */
    String label();

    /**
     * Fills a directory that does not exist yet. A copy of one object creates a file of that name.
     *
     * @return the seconds that it took
     * @throws IOException if the copy is incomplete
     */
    double fill(Path directory) throws IOException, InterruptedException;
}
