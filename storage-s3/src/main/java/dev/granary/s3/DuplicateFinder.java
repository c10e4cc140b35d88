package dev.granary.s3;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;

import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Finder of entries that a bucket already has, for one run of publications. Thread-safe.
 *
 * <p>Entries count as found only if they were read under a manifest that a process with an empty
 * directory has reached since the run began.
 *
 * <p>The manifest of a target takes five requests once, or one if the target has no packs. A hint
 * that is behind is advanced. Each pack with entries takes one request, each unpacked entry two:
 * one of them checks that lookups request it.
 */
public final class DuplicateFinder {
    private final BucketTier bucket;
    private final Map<String, Long> marks = new ConcurrentHashMap<>();

    public DuplicateFinder(BucketTier bucket) {
        this.bucket = bucket;
    }

    /**
     * Returns {@link StoreResult#DUPLICATE} or {@link StoreResult#DIVERGENT} if every process finds
     * an entry of that id; empty if it must be published.
     */
    public Optional<StoreResult> find(Entry entry) {
        long mark = marks.computeIfAbsent(
                entry.id().target().path(), _ -> bucket.markPacks(entry.id()));
        if (!bucket.isConfirmed(entry.id(), mark)) {
            return Optional.empty();
        }
        return bucket.findVisibleToAll(entry.id())
                .map(there -> there.contentHash().equals(entry.contentHash())
                        ? StoreResult.DUPLICATE
                        : StoreResult.DIVERGENT);
    }

    /**
     * Returns true if {@link #find} met a pack of the id's target that the manifest names and the
     * bucket lacks. Sends nothing.
     */
    public boolean hasFoundMissingPack(Id id) {
        return bucket.hasLostPacks(id);
    }
}
