package dev.granary.coordinator.layer;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.statistics.LayerStatistics;
import dev.granary.coordinator.stores.CountingCache;

import java.util.Optional;
import java.util.function.Consumer;

/** Uploader of entries to a bucket for {@link UploadQueue}: unpacked, or in packs. Thread-safe. */
public interface EntryUploader extends AutoCloseable {
    /**
     * Sends an entry, or buffers it until a pack is full.
     *
     * @param whenDone receives the result once, on any thread
     */
    void send(Entry entry, Consumer<StoreResult> whenDone);

    /** Sends all buffered entries. */
    void finish();

    /** Returns the requests over connections of its own; empty if it uses those of the tier. */
    default Optional<LayerStatistics.Requests> requests() {
        return Optional.empty();
    }

    @Override
    void close();

    /** Returns an uploader that sends each entry at once, unpacked. */
    static EntryUploader unpacked(CountingCache bucket) {
        return new EntryUploader() {
            @Override
            public void send(Entry entry, Consumer<StoreResult> whenDone) {
                whenDone.accept(bucket.store(entry));
            }

            @Override
            public void finish() {
                // nothing is buffered
            }

            @Override
            public void close() {
                // the tier is closed by its owner
            }
        };
    }
}
