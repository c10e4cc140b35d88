package dev.granary.coordinator.layer;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.statistics.LayerStatistics;
import dev.granary.coordinator.stores.CountingCache;
import dev.granary.gpu.plan.tuning.TuningDescriptor;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.pack.PackPublisher;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Uploader of entries in packs, one pack at a time for each target. An entry that a machine with an
 * empty directory would find in the bucket is not sent. Entries are sent unpacked if they are too
 * large for a pack, damaged in theirs, or outcomes of tunings, and all of them unless the server is
 * known to support conditional writes. Thread-safe.
 */
public final class PackUploader implements EntryUploader {
    private final BucketTier bucket;
    private final CountingCache tier;
    private final BulkBucket packed;
    private volatile Function<Id, LoadResult> uncached;
    private final Map<String, PackPublisher> publishers = new ConcurrentHashMap<>();

    /**
     * Creates an uploader to {@code bucket}.
     *
     * @param opened receives the connections for packs
     */
    public PackUploader(BucketTier bucket, CountingCache tier, Consumer<BulkBucket> opened) {
        this.bucket = bucket;
        this.tier = tier;
        this.packed = bucket.packed();
        this.uncached = bucket.uncached();
        opened.accept(packed);
    }

    @Override
    public void send(Entry entry, Consumer<StoreResult> whenDone) {
        CountingCache.PendingStore pending = tier.beginStore(entry);
        Consumer<StoreResult> done = result -> whenDone.accept(pending.count(result));
        switch (uncached.apply(entry.id())) {
            case LoadResult.Hit(Entry there) ->
                done.accept(
                        there.contentHash().equals(entry.contentHash())
                                ? StoreResult.DUPLICATE
                                : StoreResult.DIVERGENT);
            case LoadResult.Damaged _ -> done.accept(tier.cache().store(entry));
            case LoadResult.Absent _, LoadResult.Unavailable _ -> {
                if (isRevision(entry.id())
                        || bucket.packObstacle().isPresent()
                        || !publisher(entry).add(entry, done)) {
                    done.accept(tier.cache().store(entry));
                }
            }
        }
    }

    /** Returns true for an outcome of a tuning: one writer alone may create a revision of it. */
    private static boolean isRevision(Id id) {
        return id.fields().stream()
                .anyMatch(field ->
                        field.name().equals("kind") && field.text().equals(TuningDescriptor.KIND));
    }

    private PackPublisher publisher(Entry entry) {
        return publishers.computeIfAbsent(
                entry.id().target().path(),
                namespace -> packed.publisher(namespace, tier.cache()::store, bucket::disprove));
    }

    @Override
    public void finish() {
        uncached = bucket.uncached(); // later entries are compared with a newer state
        List<Throwable> failures = new ArrayList<>();
        for (PackPublisher publisher : publishers.values()) {
            try {
                publisher.finish();
            } catch (RuntimeException | Error e) {
                // a failure of one target does not affect the others
                failures.add(e);
            }
        }
        if (!failures.isEmpty()) {
            throw new IllegalStateException(failures.getFirst().toString(), failures.getFirst());
        }
    }

    @Override
    public Optional<LayerStatistics.Requests> requests() {
        return Optional.of(LayerStatistics.Requests.of(packed));
    }

    @Override
    public void close() {
        packed.close();
    }
}
