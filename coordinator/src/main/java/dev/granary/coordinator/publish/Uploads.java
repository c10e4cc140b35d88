package dev.granary.coordinator.publish;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.Closer;
import dev.granary.cache.support.Ticker;
import dev.granary.coordinator.event.GranaryListener.PublicationListener;
import dev.granary.coordinator.machine.Machine;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.publish.UploadQueue.EntryUploader;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.coordinator.tier.Tiers;
import dev.granary.coordinator.tier.Tiers.Layer;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * The uploads to the layers. A compiled entry is uploaded to the first writable layer only: those
 * after it are shared more widely. Nothing is copied from one layer to another. Thread-safe.
 */
public final class Uploads implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Uploads.class);

    private final Tiers tiers;
    private final Map<String, UploadQueue> queues = new LinkedHashMap<>(); // by layer, in order

    private Uploads(Tiers tiers) {
        this.tiers = tiers;
    }

    /**
     * Opens a queue for each writable layer, with the uploads that ended processes left.
     *
     * @param machine has the outboxes
     */
    public static Uploads open(Tiers tiers, Machine machine, boolean isInPacks, Counters counters) {
        Uploads uploads = new Uploads(tiers);
        for (Layer layer : tiers.layers()) {
            if (layer.isWritable()) {
                uploads.queues.put(
                        layer.name(),
                        new UploadQueue(
                                tiers.local(),
                                uploader(layer, isInPacks),
                                machine.outbox(layer.name()),
                                counters,
                                Ticker.SYSTEM,
                                new SplittableRandom()));
            }
        }
        List<Runnable> inherited = new ArrayList<>(); // after all notes of a session are copied
        machine.inherit((layer, id) -> {
            UploadQueue queue = uploads.queues.get(layer);
            if (queue != null) {
                inherited.add(() -> queue.addInherited(id));
            }
        });
        inherited.forEach(Runnable::run);
        return uploads;
    }

    /** Returns the uploader of a layer. A tier of another implementation has no packs. */
    private static EntryUploader uploader(Layer layer, boolean isInPacks) {
        return layer.bucket()
                .filter(_ -> isInPacks)
                .<EntryUploader>map(bucket -> new PackUploader(bucket, layer.tier()))
                .orElseGet(() -> EntryUploader.unpacked(layer.tier()));
    }

    /** Returns true if there is a writable layer. */
    public boolean hasTarget() {
        return !queues.isEmpty();
    }

    /** Queues the upload of an entry to the first writable layer, if there is one. */
    public void publish(Entry entry, StoreResult inLocalTier, PublicationListener whenDone) {
        queues.entrySet().stream().findFirst().ifPresent(layer -> layer.getValue()
                .add(
                        entry,
                        inLocalTier,
                        (id, result) -> whenDone.published(layer.getKey(), id, result)));
    }

    /**
     * Waits until all uploads are done or closed, or until {@code System.nanoTime()} reaches
     * {@code deadline}.
     *
     * @return true if all were done
     */
    public boolean await(long deadline) throws InterruptedException {
        boolean isIdle = true;
        for (UploadQueue queue : queues.values()) {
            isIdle &= queue.awaitIdle(deadline);
        }
        return isIdle;
    }

    /** Returns a snapshot of the counters of each layer, in order, with those of its uploads. */
    public List<LayerStatistics> statistics() {
        return tiers.layers().stream()
                .map(layer -> {
                    UploadQueue queue = queues.get(layer.name());
                    return queue == null ? layer.statistics() : queue.addTo(layer.statistics());
                })
                .toList();
    }

    /** Closes the queues, and logs what each leaves. */
    @Override
    public void close() {
        queues.forEach((layer, queue) -> {
            int left = queue.size();
            if (left > 0) {
                LOG.warn(
                        "{} entries were not uploaded to {}; the next process with this local"
                                + " directory uploads those that are in it.",
                        left,
                        layer);
            }
        });
        try (Closer all = new Closer()) {
            queues.values().forEach(all::add);
        }
    }
}
