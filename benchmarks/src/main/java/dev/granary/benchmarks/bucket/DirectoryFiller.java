package dev.granary.benchmarks.bucket;

import java.io.IOException;
import java.nio.file.Path;

/** Something that brings the bytes of the workload from the bucket into a directory. */
interface DirectoryFiller {
    /** Its name on the terminal. */
    String label();

    /**
     * Fills a directory that does not exist yet.
     *
     * @return the seconds that it took
     * @throws IOException if not everything came
     */
    double fill(Path directory) throws IOException, InterruptedException;
}
