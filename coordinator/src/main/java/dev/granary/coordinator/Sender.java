package dev.granary.coordinator;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import java.util.function.Consumer;

/** How {@link Uploads} brings entries to a bucket: each alone, or many in a pack. Thread-safe. */
interface Sender extends AutoCloseable {
    /**
     * Sends an entry, or keeps it until it has company.
     *
     * @param whenDone told once what became of it, by whatever thread
     */
    void send(Entry entry, Consumer<StoreResult> whenDone);

    /** Sends what is kept. */
    void finish();

    @Override
    void close();

    /** Sends each entry alone, at once. */
    static Sender alone(Tier bucket) {
        return new Sender() {
            @Override
            public void send(Entry entry, Consumer<StoreResult> whenDone) {
                whenDone.accept(bucket.store(entry));
            }

            @Override
            public void finish() {
                // nothing is kept
            }

            @Override
            public void close() {
                // the tier is somebody else's
            }
        };
    }
}
