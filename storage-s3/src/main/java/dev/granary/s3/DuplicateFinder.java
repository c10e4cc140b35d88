package dev.granary.s3;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Finds out which entries a bucket has already, for one run of publications: what is found was found by reading it, under a manifest to which a process
 * with an empty directory has come since the run began. Thread-safe.
 *
 * <p>The manifest of each target is asked for once, with four requests, or with one where the target has no packs; each pack that has entries,
 * with one; and with two for each entry that lies alone, whether look-ups ask for it.
 */
public final class DuplicateFinder {
    private final BucketTier bucket;
    private final Map<String, Long> marks = new ConcurrentHashMap<>();

    public DuplicateFinder(BucketTier bucket) {
        this.bucket = bucket;
    }

    /** {@link StoreResult#DUPLICATE} or {@link StoreResult#DIVERGENT} if every process finds an entry of that id; empty if it must be published. */
    public Optional<StoreResult> find(Entry entry) {
        long mark = marks.computeIfAbsent(entry.id().target().path(), _ -> bucket.markPacks(entry.id()));
        if (!bucket.isConfirmed(entry.id(), mark)) {
            return Optional.empty();
        }
        return bucket.findSurely(entry.id())
                .map(there -> there.contentHash().equals(entry.contentHash()) ? StoreResult.DUPLICATE : StoreResult.DIVERGENT);
    }

    /** True if {@link #find} met a pack of the target of that id that the manifest names and the bucket does not have. Sends nothing. */
    public boolean hasMetLostPack(Id id) {
        return bucket.hasLostPacks(id);
    }
}
