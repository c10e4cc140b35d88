package dev.granary.coordinator.publish;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.publish.UploadQueue.EntryUploader;
import dev.granary.coordinator.tier.CountedTier;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.pack.PackPublisher;

import org.jspecify.annotations.Nullable;

import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * Uploader of entries in packs, one pack at a time for each target. An entry that a machine with an
 * empty directory would find in the bucket is not sent. Entries are sent unpacked if they are too
 * large for a pack, damaged in theirs, or numbered revisions, and all of them unless the server is
 * known to support conditional writes. Thread-safe.
 */
public final class PackUploader implements EntryUploader {
    private final BucketTier bucket;
    private final CountedTier tier;
    private final BulkBucket packed;
    private volatile Function<Id, LoadResult> uncached;
    private final Map<String, PackPublisher> publishers = new ConcurrentHashMap<>();

    /** Creates an uploader to {@code bucket}, with connections of its own for packs. */
    public PackUploader(BucketTier bucket, CountedTier tier) {
        this.bucket = bucket;
        this.tier = tier;
        this.packed = bucket.packed();
        this.uncached = bucket.uncached();
    }

    @Override
    public void send(Entry entry, Consumer<StoreResult> whenDone) {
        UnaryOperator<StoreResult> counted = tier.begin(entry);
        Consumer<StoreResult> done = result -> whenDone.accept(counted.apply(result));
        Optional<StoreResult> refusal = bucket.refusal(entry);
        if (refusal.isPresent()) {
            done.accept(refusal.get());
            return;
        }
        switch (uncached.apply(entry.id())) {
            case LoadResult.Hit(Entry there) ->
                done.accept(
                        there.contentHash().equals(entry.contentHash())
                                ? StoreResult.DUPLICATE
                                : StoreResult.DIVERGENT);
            case LoadResult.Damaged _ -> done.accept(tier.storeUncounted(entry));
            case LoadResult.Absent _, LoadResult.Unavailable _ -> {
                if (isRevision(entry.id())
                        || bucket.packObstacle().isPresent()
                        || !publisher(entry).add(entry, done)) {
                    done.accept(tier.storeUncounted(entry));
                }
            }
        }
    }

    /**
     * Returns true for a numbered revision: one writer alone may create it, which packs allow not.
     */
    private static boolean isRevision(Id id) {
        return id.fields().stream().anyMatch(field -> field.name().equals("revision"));
    }

    private PackPublisher publisher(Entry entry) {
        return publishers.computeIfAbsent(
                entry.id().target().path(),
                namespace -> packed.publisher(namespace, tier::storeUncounted, bucket::disprove));
    }

    @Override
    public void finish() {
        uncached = bucket.uncached(); // later entries are compared with a newer state
        @Nullable Throwable failure = null;
        for (PackPublisher publisher : publishers.values()) {
            try {
                publisher.finish();
            } catch (RuntimeException | Error e) {
                failure = e; // of one target, which does not affect the others
            }
        }
        if (failure != null) {
            throw new IllegalStateException(failure.toString(), failure);
        }
    }

    @Override
    public void close() {
        packed.close();
    }
}
