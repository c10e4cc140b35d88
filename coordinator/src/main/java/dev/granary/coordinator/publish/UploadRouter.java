package dev.granary.coordinator.publish;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.config.PublishMode;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.coordinator.stores.CountingCache;
import dev.granary.coordinator.stores.OpenLayer;
import dev.granary.coordinator.stores.SilenceMonitor;
import dev.granary.s3.BucketTier;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;

/**
 * The uploads of all layers, each with its own queue and threads. What was compiled goes to the first layer that may be written, and to no other:
 * the layers behind it belong to more people. What a layer had is copied to those before it that may be written. Thread-safe.
 */
public final class UploadRouter implements AutoCloseable {
    /** In the order of the layers; empty where a layer is only read. */
    private final List<Optional<UploadQueue>> all = new ArrayList<>();

    public UploadRouter(CountingCache local, List<OpenLayer> layers, PublishMode publishing, LookupCounters counters, SilenceMonitor waits) {
        for (OpenLayer layer : layers) {
            all.add(layer.bucket().isWritable()
                    ? Optional.of(new UploadQueue(local, sender(layer, publishing, waits), layer.outbox(), counters))
                    : Optional.empty());
        }
        for (int i = 0; i < layers.size(); i++) {
            List<Id> inherited = layers.get(i).inherited();
            all.get(i).ifPresent(uploads -> inherited.forEach(uploads::addInherited));
        }
    }

    /** A tier that somebody else wrote knows no packs. */
    private static EntryUploader sender(OpenLayer layer, PublishMode publishing, SilenceMonitor waits) {
        return switch (publishing) {
            case ALONE -> EntryUploader.alone(layer.tier());
            case IN_PACKS -> layer.tier().cache() instanceof BucketTier bucket
                    ? new PackUploader(bucket, layer.tier(), packed -> waits.watch(layer.name(), packed.traffic()::quiet))
                    : EntryUploader.alone(layer.tier());
        };
    }

    /** True where there is a layer that may be written. */
    public boolean hasTarget() {
        return all.stream().anyMatch(Optional::isPresent);
    }

    /** Uploads what was compiled, or is to be published, soon; nothing happens where no layer may be written. */
    void publish(Entry entry, StoreResult inLocalTier, BiConsumer<Id, StoreResult> whenDone) {
        all.stream().flatMap(Optional::stream).findFirst().ifPresent(uploads -> uploads.add(entry, inLocalTier, whenDone));
    }

    /** Copies what the layer at {@code position} had to those before it, soon. One that has it meanwhile says so: no harm is done. */
    void fill(Entry entry, StoreResult inLocalTier, int position) {
        all.subList(0, position).forEach(before -> before.ifPresent(uploads -> uploads.add(entry, inLocalTier, (_, _) -> {})));
    }

    /** Waits until all are idle or closed, or until {@code System.nanoTime()} has reached {@code deadline}; true if they were idle. */
    boolean awaitIdle(long deadline) throws InterruptedException {
        boolean isIdle = true;
        for (Optional<UploadQueue> uploads : all) {
            isIdle &= uploads.isEmpty() || uploads.get().awaitIdle(deadline);
        }
        return isIdle;
    }

    @Override
    public void close() {
        all.forEach(uploads -> uploads.ifPresent(UploadQueue::close));
    }
}
