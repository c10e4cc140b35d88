package dev.granary.coordinator.publish;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
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
 * Sends entries in packs, one pack after the other for each target. What can be read from the bucket is not sent again; what is too large for a pack, and
 * everything where the server keeps no conditions on writes, goes alone.
 * Named packs that the bucket has lost are taken off the manifest and counted, once for each target
 * between two calls of {@link #finish}.
 */
public final class PackUploader implements EntryUploader {
    private final BucketTier bucket;
    private final CountingCache counted;
    private final BulkBucket packed;
    private volatile DuplicateFinder duplicates;
    private final Map<String, PackPublisher> publishers = new ConcurrentHashMap<>();
    private final Set<String> withoutLostPacks = ConcurrentHashMap.newKeySet();

    /** A sender to that bucket, whose connections for packs it tells {@code opened}. */
    public PackUploader(BucketTier bucket, CountingCache counted, Consumer<BulkBucket> opened) {
        this.bucket = bucket;
        this.counted = counted;
        this.packed = bucket.packed();
        this.duplicates = bucket.duplicates();
        opened.accept(packed);
    }

    @Override
    public void send(Entry entry, Consumer<StoreResult> whenDone) {
        Optional<StoreResult> there = duplicates.find(entry);
        forgetLostPacks(entry);
        if (there.isPresent()) {
            whenDone.accept(counted.statistics().count(there.get()));
        } else if (bucket.conditionalWrites() == ConditionalWriteSupport.NONE
                || !publisher(entry).add(entry, result -> whenDone.accept(counted.statistics().count(result)))) {
            whenDone.accept(counted.store(entry));
        }
    }

    /** Called before the answer for the entry: work that is left after the last answer is not waited for. */
    private void forgetLostPacks(Entry entry) {
        if (duplicates.hasFoundMissingPack(entry.id()) && bucket.conditionalWrites() != ConditionalWriteSupport.NONE
                && withoutLostPacks.add(entry.id().target().path())) {
            counted.lostPacks().count(publisher(entry).forgetLost());
        }
    }

    private PackPublisher publisher(Entry entry) {
        return publishers.computeIfAbsent(entry.id().target().path(), packed::publisher);
    }

    @Override
    public void finish() {
        duplicates = bucket.duplicates(); // what comes later is compared with a newer state
        withoutLostPacks.clear();
        List<Throwable> failures = new ArrayList<>();
        for (PackPublisher publisher : publishers.values()) {
            try {
                publisher.finish();
            } catch (RuntimeException | Error e) { // one target's failure keeps none of the others
                failures.add(e);
            }
        }
        if (!failures.isEmpty()) {
            throw new IllegalStateException(failures.getFirst().toString(), failures.getFirst());
        }
    }

    @Override
    public void close() {
        packed.close();
    }
}
