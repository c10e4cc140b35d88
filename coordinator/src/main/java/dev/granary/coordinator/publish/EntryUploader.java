package dev.granary.coordinator.publish;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.stores.CountingCache;
import java.util.function.Consumer;

/** How {@link UploadQueue} brings entries to a bucket: each alone, or many in a pack. Thread-safe. */
interface EntryUploader extends AutoCloseable {
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
    static EntryUploader alone(CountingCache bucket) {
        return new EntryUploader() {
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
