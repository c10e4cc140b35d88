package dev.granary.benchmarks.local.store;

import dev.granary.cache.Id;

import java.io.IOException;
import java.util.Map;

/**
 * A compared store, open on one directory. Puts and removals come from one thread. Reads come from
 * any number of threads, each with its own reader.
 */
public interface CandidateStore extends AutoCloseable {
    /** Stores an item without a sync. */
    void put(WorkloadItem item) throws IOException;

    /** Removes an entry. Stores that evict by themselves receive no such call. */
    void remove(Id id) throws IOException;

    /** Returns a new reader for one thread. The candidate {@code how} determines how it reads. */
    Reader reader(StoreCandidate how) throws IOException;

    /**
     * Returns the bytes of the frames that are still in the store; {@code put} has the length of
     * each frame that was ever put.
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

    /** Returns the candidate that this store is filled for. */
    StoreCandidate owner();

    @Override
    void close() throws IOException;

    /** The reader of one thread. */
    interface Reader extends AutoCloseable {
        /** The result of a lookup of an absent entry. */
        long ABSENT = -1;

        /**
         * Reads an entry and verifies its checksums, except for the candidate without verification.
         *
         * @return the number of bytes, or {@link #ABSENT}
         * @throws IOException if the entry does not verify, or the store fails
         */
        long get(Id id) throws IOException;

        @Override
        default void close() throws IOException {}
    }
}
