package dev.granary.s3.pack.compact;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.PackIndexCache;
import dev.granary.s3.pack.PackedIdFinder;
import dev.granary.s3.pack.format.UnpackedEntry;
import dev.granary.s3.pack.listing.StopListingException;
import dev.granary.s3.pack.manifest.ManifestPlan;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.pack.manifest.PackManifestLog;
import dev.granary.s3.pack.manifest.PackManifestLog.Committed;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;

import java.util.HashSet;
import java.util.Set;

/** Sealer of one target: commits that the target has no unpacked entries. For one thread. */
final class TargetSealer {
    /** The number of attempts to seal a target while other writers commit. */
    private static final int MAX_SEALINGS = 3;

    private static final int LISTINGS = 2;

    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackIndexCache indexCache;
    private final PackManifestLog log;

    TargetSealer(
            ObjectStore store, TargetLayout keys, PackIndexCache indexCache, PackManifestLog log) {
        this.store = store;
        this.keys = keys;
        this.indexCache = indexCache;
        this.log = log;
    }

    /**
     * Commits that the target has no unpacked entries, if that holds.
     *
     * <p>The intent is committed before unpacked entries are listed. A process that stores an
     * unpacked entry too late for the listing finds the intent afterwards, or the seal, and commits
     * that unpacked entries are possible. The seal is committed only on top of the manifest under
     * which the listing was made, so that no such commit came between. If this process ends in
     * between, the intent stays, which costs the next process that stores an unpacked entry one
     * commit.
     *
     * @param committed the newest manifest, sealed or with the intent
     * @return the state in the newest manifest, as far as it is known
     */
    PackManifest.UnpackedEntries seal(PackManifest committed) {
        PackManifest newest = committed;
        for (int attempt = 0;
                attempt < MAX_SEALINGS
                        && newest.unpackedEntries() == PackManifest.UnpackedEntries.SEALING
                        && isEveryEntryPacked(newest);
                attempt++) {
            PackManifest intent = newest;
            if (log.commit(base -> base.isSameAs(intent)
                            ? ManifestPlan.commit(intent.with(PackManifest.UnpackedEntries.NONE))
                            : ManifestPlan.nothing())
                    instanceof Committed.Done<?>) {
                return PackManifest.UnpackedEntries.NONE;
            }
            // packs or unpacked entries were published
            newest = log.confirmed() instanceof PackManifestLog.Newest.Found(PackManifest now)
                    ? now
                    : PackManifest.NONE;
        }
        if (newest.unpackedEntries() == PackManifest.UnpackedEntries.NONE
                && isEveryEntryPacked(newest)) {
            return PackManifest.UnpackedEntries.NONE;
        }
        log.commit(base -> base.unpackedEntries() == PackManifest.UnpackedEntries.POSSIBLE
                ? ManifestPlan.nothing()
                : ManifestPlan.commit(base.with(PackManifest.UnpackedEntries.POSSIBLE)));
        return PackManifest.UnpackedEntries.POSSIBLE;
    }

    /**
     * Returns true if every unpacked entry is in a pack, too, by two listings: a lagging one is
     * outweighed by the other.
     */
    private boolean isEveryEntryPacked(PackManifest manifest) {
        Set<Sha256> unpacked = new HashSet<>();
        String prefix = keys.unpackedPrefix();
        for (int listing = 0; listing < LISTINGS; listing++) {
            try {
                if (store.list(prefix, object -> UnpackedEntry.of(object, prefix)
                                .ifPresent(entry -> add(unpacked, entry.id())))
                        instanceof ListResult.Unavailable) {
                    return false;
                }
            } catch (StopListingException e) {
                return false;
            }
        }
        PackedIdFinder packed = new PackedIdFinder(manifest, keys, indexCache, store);
        return unpacked.stream().allMatch(packed::contains);
    }

    private static void add(Set<Sha256> ids, Sha256 id) {
        if (ids.add(id) && ids.size() > CompactionPlanner.MAX_UNPACKED) {
            throw new StopListingException();
        }
    }
}
