package dev.granary.coordinator.layer;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.statistics.LayerStatistics;
import dev.granary.coordinator.stores.CountingCache;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.DuplicateFinder;
import dev.granary.s3.pack.PackPublisher;
import dev.granary.s3.probe.ConditionalWriteSupport;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Uploader of entries in packs, one pack at a time for each target. Entries that the bucket already
 * has are not sent. Entries that are too large for a pack are sent unpacked, as are all entries
 * unless the server is known to support conditional writes in full.
 *
 * <p>Packs that the bucket has lost are removed from the manifest and counted, once for each target
 * between two calls of {@link #finish}. Thread-safe.
 */
public final class PackUploader implements EntryUploader {
    private final BucketTier bucket;
    private final CountingCache tier;
    private final BulkBucket packed;
    private volatile DuplicateFinder duplicates;
    private final Map<String, PackPublisher> publishers = new ConcurrentHashMap<>();
    private final Set<String> repairedTargets = ConcurrentHashMap.newKeySet();

    /**
     * Creates an uploader to {@code bucket}.
     *
     * @param opened receives the connections for packs
     */
    public PackUploader(BucketTier bucket, CountingCache tier, Consumer<BulkBucket> opened) {
        this.bucket = bucket;
        this.tier = tier;
        this.packed = bucket.packed();
        this.duplicates = bucket.duplicates();
        opened.accept(packed);
    }

    @Override
    public void send(Entry entry, Consumer<StoreResult> whenDone) {
        CountingCache.PendingStore pending = tier.beginStore(entry);
        Optional<StoreResult> existing = duplicates.find(entry);
        forgetLostPacks(entry);
        if (existing.isPresent()) {
            whenDone.accept(pending.count(existing.get()));
        } else if (!mayWritePacks()
                || !publisher(entry).add(entry, result -> whenDone.accept(pending.count(result)))) {
            whenDone.accept(pending.count(tier.cache().store(entry)));
        }
    }

    /**
     * Removes lost packs from the manifest. Called before the result of the entry is reported,
     * since nothing waits for work after the last result.
     */
    private void forgetLostPacks(Entry entry) {
        if (duplicates.hasFoundMissingPack(entry.id())
                && mayWritePacks()
                && repairedTargets.add(entry.id().target().path())) {
            tier.lostPacks().count(publisher(entry).forgetLost());
        }
    }

    private boolean mayWritePacks() {
        return bucket.conditionalWrites()
                .filter(ConditionalWriteSupport.FULL::equals)
                .isPresent();
    }

    private PackPublisher publisher(Entry entry) {
        return publishers.computeIfAbsent(entry.id().target().path(), packed::publisher);
    }

    @Override
    public void finish() {
        duplicates = bucket.duplicates(); // later entries are compared with a newer state
        repairedTargets.clear();
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
