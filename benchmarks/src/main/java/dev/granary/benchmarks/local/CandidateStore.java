package dev.granary.benchmarks.local;

import dev.granary.cache.Id;

import java.io.IOException;
import java.util.Map;

/**
 * A store on one directory, open. Puts and removals come from one thread, reads from any number,
 * each with a reader of its own.
 */
interface CandidateStore extends AutoCloseable {
    /** Stores an item; without a sync. */
    void put(WorkloadItem item) throws IOException;

    /** Removes an entry; stores that evict by themselves are never asked to. */
    void remove(Id id) throws IOException;

    /** A new reader for one thread. */
    Reader reader(StoreCandidate how) throws IOException;

    /**
     * The bytes of the frames that still hit; {@code put} has the length of each frame that was
     * ever put.
     */
    default long liveBytes(Map<Id, Integer> put) throws IOException {
        long bytes = 0;
        try (Reader reader = reader(owner())) {
            for (Map.Entry<Id, Integer> each : put.entrySet()) {
                if (reader.get(each.getKey()) != Reader.ABSENT) {
                    bytes += each.getValue();
                }
            }
        }
        return bytes;
    }

    /** The candidate that this store is filled for. */
    StoreCandidate owner();

    @Override
    void close() throws IOException;

    /** What one thread reads with. */
    interface Reader extends AutoCloseable {
        /** There is no such entry. */
        long ABSENT = -1;

        /**
         * Gets an entry, verified by its checksums unless this is the one that does not.
         *
         * @return how many bytes were read, or {@link #ABSENT}
         * @throws IOException if what is there does not verify, or the store fails
         */
        long get(Id id) throws IOException;

        @Override
        default void close() throws IOException {}
    }
}
