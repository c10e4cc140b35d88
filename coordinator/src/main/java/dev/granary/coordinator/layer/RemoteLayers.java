package dev.granary.coordinator.layer;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.config.PublishMode;
import dev.granary.coordinator.statistics.LayerStatistics;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.coordinator.stores.OpenLayer;
import dev.granary.coordinator.stores.OpenStores;
import dev.granary.coordinator.stores.SilenceMonitor;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;

/**
 * The layers in order. A lookup goes through them until one has the entry. The
 * {@link LookupTimeBudget} limits the wait for each. One deadline limits the wait for all; each
 * layer may use an equal share of the time that is left.
 *
 * <p>A compiled entry is uploaded to the first writable layer only: those after it are shared more
 * widely. Nothing is copied from one layer to another. Thread-safe.
 */
public final class RemoteLayers implements AutoCloseable {
    /**
     * The deadline of a lookup for all layers together, unless the configured wait for one is
     * longer.
     */
    private static final Duration DEADLINE = Duration.ofSeconds(10);

    private final List<RemoteLayer> all;
    private final CompileTimeEstimate compileTimes;
    private final long deadlineNanos;

    /** Creates the layers; {@code deadline} is that of one lookup for all of them together. */
    RemoteLayers(List<RemoteLayer> layers, CompileTimeEstimate compileTimes, Duration deadline) {
        this.all = List.copyOf(layers);
        this.compileTimes = compileTimes;
        this.deadlineNanos = deadline.toNanos();
    }

    /**
     * Opens lookups and uploads of {@code layers}, and queues the uploads that ended processes
     * left.
     *
     * @param stores the local tier, from which queued entries are read, and the layers
     * @param bucketWait the initial time budget for each layer
     * @param waits receives the activity of connections that uploads open
     */
    public static RemoteLayers open(
            OpenStores stores,
            Duration bucketWait,
            PublishMode publishing,
            LookupCounters counters,
            SilenceMonitor waits) {
        CompileTimeEstimate compileTimes = new CompileTimeEstimate();
        List<RemoteLayer> opened = new ArrayList<>();
        List<OpenLayer> layers = stores.layers();
        for (OpenLayer layer : layers) {
            Optional<UploadQueue> uploads = layer.isWritable()
                    ? Optional.of(new UploadQueue(
                            stores.local(),
                            uploader(layer, publishing, waits),
                            layer.outbox(),
                            counters))
                    : Optional.empty();
            opened.add(new RemoteLayer(
                    layer,
                    opened.size(),
                    compileTimes,
                    new LookupTimeBudget(compileTimes, bucketWait),
                    uploads));
        }
        for (int i = 0; i < layers.size(); i++) {
            List<Id> inherited = layers.get(i).inherited();
            opened.get(i).uploads().ifPresent(queue -> inherited.forEach(queue::addInherited));
        }
        return new RemoteLayers(
                opened, compileTimes, bucketWait.compareTo(DEADLINE) > 0 ? bucketWait : DEADLINE);
    }

    /** Returns the uploader of a layer. A tier of another implementation has no packs. */
    private static EntryUploader uploader(
            OpenLayer layer, PublishMode publishing, SilenceMonitor waits) {
        return switch (publishing) {
            case UNPACKED -> EntryUploader.unpacked(layer.tier());
            case IN_PACKS ->
                layer.bucketTier()
                        .<EntryUploader>map(bucket -> new PackUploader(
                                bucket,
                                layer.tier(),
                                packed -> waits.watch(layer.name(), packed.traffic()::quiet)))
                        .orElseGet(() -> EntryUploader.unpacked(layer.tier()));
        };
    }

    /**
     * Loads an entry from the layers in order, until {@code use} returns a result for a hit.
     *
     * @param ids the ids of the same inputs in one or several namespaces, in the order in which
     *     each layer is searched for them
     * @param use returns empty if it cannot use the entry of this layer
     */
    public <T> Optional<T> search(List<Id> ids, BiFunction<Entry, RemoteLayer, Optional<T>> use) {
        long leftNanos = deadlineNanos;
        for (int position = 0; position < all.size() && leftNanos > 0; position++) {
            RemoteLayer layer = all.get(position);
            long shareNanos = leftNanos / (all.size() - position);
            long start = System.nanoTime();
            LoadResult result = layer.load(ids, shareNanos);
            leftNanos -= System.nanoTime() - start;
            if (result instanceof LoadResult.Hit(Entry entry)) {
                Optional<T> used = use.apply(entry, layer);
                if (used.isPresent()) {
                    return used;
                }
            }
        }
        return Optional.empty();
    }

    /** Returns the estimate of compile times. */
    public CompileTimeEstimate compileTimes() {
        return compileTimes;
    }

    /** Returns true if there is a writable layer. */
    public boolean isWritable() {
        return all.stream().anyMatch(layer -> layer.uploads().isPresent());
    }

    /** Queues the upload of an entry to the first writable layer, if there is one. */
    public void publish(
            Entry entry, StoreResult inLocalTier, BiConsumer<Id, StoreResult> whenDone) {
        all.stream()
                .map(RemoteLayer::uploads)
                .flatMap(Optional::stream)
                .findFirst()
                .ifPresent(queue -> queue.add(entry, inLocalTier, whenDone));
    }

    /**
     * Waits until all uploads are done or closed, or until {@code System.nanoTime()} reaches
     * {@code deadline}.
     *
     * @return true if all were done
     */
    public boolean awaitUploads(long deadline) throws InterruptedException {
        boolean isIdle = true;
        for (RemoteLayer layer : all) {
            isIdle &= layer.uploads().isEmpty() || layer.uploads().get().awaitIdle(deadline);
        }
        return isIdle;
    }

    /** Returns a snapshot of the counters of each layer, in order. */
    public List<LayerStatistics> statistics() {
        return all.stream().map(RemoteLayer::statistics).toList();
    }

    @Override
    public void close() {
        all.forEach(RemoteLayer::close);
    }
}
