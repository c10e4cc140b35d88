package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Decides which packs and entries of one target may be removed from the bucket, and removes them. Nothing else of this module removes an object, but for
 * the trial objects of a probe. Thread-safe.
 *
 * <p>Every method reads the newest manifest first, {@linkplain PackManifestLog#confirmedWhole confirmed and whole}; without one it removes nothing. No
 * manifest is ever removed. {@code docs/deletions.md} has a row for each method: what it has checked, and why that is enough.
 */
public final class BucketRemover {
    /** A pack that no manifest names belongs, when it is younger, to a writer that may still name it. Longer than {@link #LONGEST_COMMIT}. */
    public static final Duration ORPHAN_AGE = Duration.ofHours(6);

    /** A writer names no pack that is older: another process may just have decided to remove it. */
    public static final Duration LONGEST_COMMIT = Duration.ofHours(3);

    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackManifestLog log;

    public BucketRemover(ObjectStore store, TargetLayout keys, PackManifestLog log) {
        this.store = store;
        this.keys = keys;
        this.log = log;
    }

    /** An entry outside of packs, and the pack in which a sound copy of it was read a moment ago. */
    public record VerifiedCopy(UnpackedEntry entry, PackInfo copy) {}

    /** A pack that was never named, and how long it must have been there. */
    public record Orphan(Sha256 name, Duration age) {}

    /** What became of packs that their writer wrote for nothing. */
    public enum OwnPackState {
        /** The newest manifest names none of them. */
        NOT_NAMED,
        /** The newest manifest names at least one: they are committed after all. */
        NAMED,
        /** Nobody can say; none was removed. */
        UNKNOWN
    }

    /**
     * Removes packs that this process wrote, and whose commit is known not to be carried out. They are not named by any manifest, unless an answer about
     * that was wrong: so the newest one is asked. What cannot be removed is an orphan, and goes later.
     */
    public OwnPackState removeOwn(List<PackInfo> packs) {
        if (!(log.confirmedWhole() instanceof PackManifestLog.Newest.Found(PackManifest newest))) {
            return OwnPackState.UNKNOWN;
        }
        OwnPackState all = OwnPackState.NOT_NAMED;
        for (PackInfo pack : packs) {
            if (newest.names(pack.name())) {
                all = OwnPackState.NAMED;
            } else {
                WriteResult ignored = store.delete(keys.pack(pack.name()));
            }
        }
        return all;
    }

    /**
     * Removes packs that no manifest names. Their age is asked before the manifest is: a writer names no pack older than {@link #LONGEST_COMMIT}, so none
     * is named after that was read.
     *
     * @return how many were removed
     */
    public long removeOrphans(List<Orphan> orphans) {
        List<Sha256> old = orphans.stream().filter(this::isOld).map(Orphan::name).toList();
        if (old.isEmpty() || !(log.confirmedWhole() instanceof PackManifestLog.Newest.Found(PackManifest newest))) {
            return 0;
        }
        Set<Sha256> known = new HashSet<>();
        newest.packs().forEach(pack -> known.add(pack.name()));
        newest.retired().forEach(retired -> known.add(retired.name()));
        return old.stream().filter(name -> !known.contains(name) && isRemoved(store.delete(keys.pack(name)))).count();
    }

    /** True if the server's clock says that a pack is old enough; false if the server tells no time. */
    private boolean isOld(Orphan orphan) {
        Duration least = orphan.age().compareTo(ORPHAN_AGE) > 0 ? orphan.age() : ORPHAN_AGE;
        return store.head(keys.pack(orphan.name())) instanceof HeadResult.Found found && isOlder(found.dates(), least);
    }

    /** True if the server's clock says that an object is at least that old. */
    public static boolean isOlder(ServerTimestamps dates, Duration age) {
        return dates.age().filter(actual -> actual.compareTo(age) >= 0).isPresent();
    }

    /**
     * Removes packs that are named no more, for longer than the grace. The newest manifest must still say so: numbers may have begun again, and a pack may
     * have come back.
     *
     * @return those that were removed, to be forgotten by the next manifest
     */
    public Set<PackManifest.Retired> removeRetired(List<PackManifest.Retired> expired) {
        Set<PackManifest.Retired> removed = new HashSet<>();
        if (expired.isEmpty() || !(log.confirmedWhole() instanceof PackManifestLog.Newest.Found(PackManifest newest))) {
            return removed;
        }
        Set<PackManifest.Retired> retired = Set.copyOf(newest.retired());
        for (PackManifest.Retired one : expired) {
            if (retired.contains(one) && !newest.names(one.name()) && isRemoved(store.delete(keys.pack(one.name())))) {
                removed.add(one);
            }
        }
        return removed;
    }

    /**
     * Removes entries that lie outside of packs, of which a sound copy in a pack was read a moment ago. The newest manifest must name that pack, or another
     * one whose index, read from the bucket now, has the entry.
     *
     * @return how many were removed
     */
    public long removeCopied(List<VerifiedCopy> entries) {
        if (entries.isEmpty() || !(log.confirmedWhole() instanceof PackManifestLog.Newest.Found(PackManifest newest))) {
            return 0;
        }
        PackedIdFinder others = new PackedIdFinder(newest, keys, PackIndexCache.NONE, store); // this machine's disk tells nothing of the bucket
        long removed = 0;
        for (VerifiedCopy one : entries) {
            if ((newest.names(one.copy().name()) || others.contains(one.entry().id())) && remove(one.entry())) {
                removed++;
            }
        }
        return removed;
    }

    /** Exactly the version that was listed. Where the server knows no conditional deletes, the version is compared first. */
    private boolean remove(UnpackedEntry entry) {
        return switch (store.deleteIfMatch(entry.key(), entry.etag())) {
            case WriteResult.Done _ -> true;
            case WriteResult.NotAllowed refused when refused.failure().kind() == StoreFailure.Kind.NOT_SUPPORTED ->
                store.head(entry.key()) instanceof HeadResult.Found found && found.etag().equals(entry.etag())
                        && isRemoved(store.delete(entry.key()));
            case WriteResult.NotAllowed _, WriteResult.PreconditionFailed _, WriteResult.Conflict _, WriteResult.NotSent _, WriteResult.Unknown _ -> false;
        };
    }

    private static boolean isRemoved(WriteResult result) {
        return result instanceof WriteResult.Done;
    }
}
