package dev.granary.benchmarks.bucket.transport;

import java.io.IOException;

/** A client of one bucket that reads whole objects into memory. Thread-safe. */
interface ObjectReader extends AutoCloseable {
    /**
     * Reads an object.
     *
     * @return its length in bytes
     * @throws IOException if it cannot be read
     */
    long read(String key) throws IOException;

    @Override
    void close();
}
