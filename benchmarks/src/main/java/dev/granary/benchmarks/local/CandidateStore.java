package dev.granary.benchmarks.local;

import dev.granary.cache.Id;

import java.io.IOException;

/** Store that is measured, open on one directory. Thread-safe. */
interface CandidateStore extends AutoCloseable {
    /** Allocation unit of the usual file systems. */
    int BLOCK = 4096;

    /** Capacity that no measure reaches. */
    long UNLIMITED = Long.MAX_VALUE / 2;

    /** Stores an entry without a sync, and replaces the one that is present. */
    void put(LocalWorkload.Item item) throws IOException;

    /** Returns a reader for one thread. */
    Reader reader(StoreCandidate how);

    /** Lists the directory. */
    Listed list() throws IOException;

    /** Evicts the oldest entries if they exceed {@code capacity}. */
    void sweep(long capacity) throws IOException;

    @Override
    void close();

    /**
     * Contents of a directory.
     *
     * @param entries number of entries
     * @param bytes their bytes on the disk
     */
    record Listed(long entries, long bytes) {}

    /** Returns the bytes that a file of this size takes on the disk. */
    static long onDisk(long size) {
        return (size + BLOCK - 1) / BLOCK * BLOCK;
    }

    /** Reader of one thread. */
    @FunctionalInterface
    interface Reader {
        /**
         * Reads an entry.
         *
         * @throws IOException if it is absent, or does not verify
         */
        void get(Id id) throws IOException;
    }
}
