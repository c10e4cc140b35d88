package dev.granary.coordinator.publish;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.coordinator.tier.CountedTier;

import java.util.function.Consumer;

/** Uploader of entries to a bucket for {@link UploadQueue}: unpacked, or in packs. Thread-safe. */
@FunctionalInterface
public interface EntryUploader extends AutoCloseable {
    /**
     * Sends an entry, or buffers it until a pack is full.
     *
     * @param whenDone receives the result once, on any thread
     */
    void send(Entry entry, Consumer<StoreResult> whenDone);

    /** Sends all buffered entries, if it buffers some. */
    default void finish() {}

    /** Adds the requests over connections of its own; none if it uses those of the tier. */
    default LayerStatistics addTo(LayerStatistics layer) {
        return layer;
    }

    @Override
    default void close() {}

    /** Returns an uploader that sends each entry at once, unpacked. */
    static EntryUploader unpacked(CountedTier bucket) {
        return (entry, whenDone) -> whenDone.accept(bucket.store(entry));
    }
}
