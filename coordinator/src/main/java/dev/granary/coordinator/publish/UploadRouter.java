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
 * Router of uploads to the queues of the layers. A compiled entry goes to the first writable layer
 * only: the layers after it are shared more widely. An entry that a layer had is copied to the
 * writable layers before it. Thread-safe.
 */
public final class UploadRouter implements AutoCloseable {
    /** The queues in layer order; empty for a read-only layer. */
    private final List<Optional<UploadQueue>> queues = new ArrayList<>();

    public UploadRouter(CountingCache local, List<OpenLayer> layers, PublishMode publishing, LookupCounters counters, SilenceMonitor waits) {
        for (OpenLayer layer : layers) {
            queues.add(layer.bucket().isWritable()
                    ? Optional.of(new UploadQueue(local, uploader(layer, publishing, waits), layer.outbox(), counters))
                    : Optional.empty());
        }
        for (int i = 0; i < layers.size(); i++) {
            List<Id> inherited = layers.get(i).inherited();
            queues.get(i).ifPresent(queue -> inherited.forEach(queue::addInherited));
        }
    }

    /** Returns the uploader of a layer. A tier of another implementation has no packs. */
    private static EntryUploader uploader(OpenLayer layer, PublishMode publishing, SilenceMonitor waits) {
        return switch (publishing) {
            case UNPACKED -> EntryUploader.unpacked(layer.tier());
            case IN_PACKS -> layer.tier().cache() instanceof BucketTier bucket
                    ? new PackUploader(bucket, layer.tier(), packed -> waits.watch(layer.name(), packed.traffic()::quiet))
                    : EntryUploader.unpacked(layer.tier());
        };
    }

    /** Returns true if there is a writable layer. */
    public boolean hasTarget() {
        return queues.stream().anyMatch(Optional::isPresent);
    }

    /** Queues the upload of an entry to the first writable layer, if there is one. */
    void publish(Entry entry, StoreResult inLocalTier, BiConsumer<Id, StoreResult> whenDone) {
        queues.stream().flatMap(Optional::stream).findFirst().ifPresent(queue -> queue.add(entry, inLocalTier, whenDone));
    }

    /**
     * Queues the upload of an entry of the layer at {@code position} to the layers before it. A
     * layer that has the entry by then reports a duplicate.
     */
    void fill(Entry entry, StoreResult inLocalTier, int position) {
        queues.subList(0, position).forEach(earlier -> earlier.ifPresent(queue -> queue.add(entry, inLocalTier, (_, _) -> {})));
    }

    /**
     * Waits until all queues are idle or closed, or until {@code System.nanoTime()} reaches
     * {@code deadline}.
     *
     * @return true if all were idle
     */
    boolean awaitIdle(long deadline) throws InterruptedException {
        boolean isIdle = true;
        for (Optional<UploadQueue> queue : queues) {
            isIdle &= queue.isEmpty() || queue.get().awaitIdle(deadline);
        }
        return isIdle;
    }

    @Override
    public void close() {
        queues.forEach(queue -> queue.ifPresent(UploadQueue::close));
    }
}
