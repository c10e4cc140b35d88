package dev.granary.benchmarks.bucket;

import java.io.IOException;

/** A client of one bucket that reads whole objects into memory. For any number of threads. */
interface ObjectReader extends AutoCloseable {
    /**
     * Reads an object.
     *
     * @return how many bytes it has
     * @throws IOException if it cannot be read
     */
    long read(String key) throws IOException;

    @Override
    void close();
}
