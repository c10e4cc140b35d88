package dev.granary.s3;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.Lazy;
import dev.granary.s3.pack.PackReader;
import dev.granary.s3.resilience.ResilientObjectStore;

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
    private final boolean hasPacks;
    private final Lazy<PackReader> packs;
    private final ResilientObjectStore store;
    private final Map<String, Long> marks = new ConcurrentHashMap<>();

    DuplicateFinder(
            BucketTier bucket,
            boolean hasPacks,
            Lazy<PackReader> packs,
            ResilientObjectStore store) {
        this.bucket = bucket;
        this.hasPacks = hasPacks;
        this.packs = packs;
        this.store = store;
    }

    /**
     * Returns {@link StoreResult#DUPLICATE} or {@link StoreResult#DIVERGENT} if every process finds
     * an entry of that id; empty if it must be published.
     */
    public Optional<StoreResult> find(Entry entry) {
        long mark = marks.computeIfAbsent(
                entry.id().target().path(), _ -> hasPacks ? packs.get().mark(entry.id()) : 0);
        if (hasPacks && !packs.get().confirm(entry.id(), mark, store.withinDeadline())) {
            return Optional.empty();
        }
        return findVisibleToAll(entry.id())
                .map(there -> there.contentHash().equals(entry.contentHash())
                        ? StoreResult.DUPLICATE
                        : StoreResult.DIVERGENT);
    }

    /**
     * Returns the entry of an id that every process finds, if the manifest is confirmed.
     *
     * <p>The pack that holds the entry is requested from the bucket: an index cached on this
     * machine may belong to a truncated pack. An unpacked entry may be newer than the manifest, and
     * its publisher may not have made it visible to lookups yet.
     */
    private Optional<Entry> findVisibleToAll(Id id) {
        boolean isPacked = hasPacks && packs.get().holds(id, store.withinDeadline());
        if (!(bucket.load(id) instanceof LoadResult.Hit(Entry entry))) {
            return Optional.empty();
        }
        boolean isVisible = isPacked
                || !hasPacks
                || (!packs.get().isKnown(id) && packs.get().unseal(id).isEmpty());
        return isVisible ? Optional.of(entry) : Optional.empty();
    }

    /**
     * Returns true if {@link #find} met a pack of the id's target that the manifest names and the
     * bucket lacks. Sends nothing.
     */
    public boolean hasFoundMissingPack(Id id) {
        PackReader reader = packs.peek();
        return reader != null && reader.hasLostPack(id);
    }
}
