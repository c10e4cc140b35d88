package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.UnpackedEntry;
import dev.granary.s3.pack.manifest.ManifestPlan;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.pack.manifest.PackManifestLog;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Removes packs and unpacked entries of one target that are no longer needed. No other class of
 * this module removes objects, except the probe its own. Thread-safe.
 *
 * <p>Every method first reads the newest manifest, {@linkplain PackManifestLog#confirmedWhole
 * confirmed and whole}; without one it removes nothing. Manifests are never removed.
 * {@code docs/deletions.md} lists for each method what it checks and why that is enough.
 */
public final class BucketRemover {
    /**
     * The age below which a pack that no manifest names may still be named by its writer. Longer
     * than {@link #LONGEST_COMMIT}.
     */
    public static final Duration ORPHAN_AGE = Duration.ofHours(6);

    /**
     * The age above which a writer does not name a pack: another process may be about to remove it.
     */
    public static final Duration LONGEST_COMMIT = Duration.ofHours(3);

    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackManifestLog log;

    public BucketRemover(ObjectStore store, TargetLayout keys, PackManifestLog log) {
        this.store = store;
        this.keys = keys;
        this.log = log;
    }

    /** An unpacked entry and the pack in which a sound copy of it was just read. */
    public record VerifiedCopy(UnpackedEntry entry, PackInfo copy) {}

    /** A pack that was never named, and the least age for its removal. */
    public record Orphan(Sha256 name, Duration age) {}

    /** The state of packs whose commit their writer gave up. */
    public enum OwnPackState {
        /** The newest manifest names none of them. */
        NOT_NAMED,
        /** The newest manifest names at least one: they are committed after all. */
        NAMED,
        /** The bucket did not report it; none was removed. */
        UNKNOWN
    }

    /**
     * Removes packs that this process wrote and whose commit is known to have failed. The newest
     * manifest is read first, since that knowledge may come from a wrong response. A pack that
     * cannot be removed is an orphan, and is removed later.
     */
    public OwnPackState removeOwn(List<PackInfo> packs) {
        if (!(log.confirmedWhole() instanceof PackManifestLog.Newest.Found(PackManifest newest))) {
            return OwnPackState.UNKNOWN;
        }
        OwnPackState state = OwnPackState.NOT_NAMED;
        for (PackInfo pack : packs) {
            if (newest.names(pack.name())) {
                state = OwnPackState.NAMED;
            } else {
                WriteResult ignored = store.delete(keys.pack(pack.name()));
            }
        }
        return state;
    }

    /**
     * Removes packs that readers no longer use: orphans, and packs that have been retired for
     * longer than the grace period.
     *
     * <p>The age of orphans is requested first. Then a manifest is committed on top of the newest
     * one, which neither names nor needs these packs; only then are they removed. A suspended
     * writer that is about to name one of them finds the number of its manifest taken, plans again,
     * and reads the age or the absence of its pack. An expired pack must still be listed as
     * retired: numbering may have restarted, and a pack may have been restored.
     *
     * @param expired packs that were retired for longer than the grace period
     * @return the number of removed packs
     */
    public long removeUnused(List<Orphan> orphans, List<PackManifest.Retired> expired) {
        List<Sha256> old =
                orphans.stream().filter(this::isOld).map(Orphan::name).toList();
        if ((old.isEmpty() && expired.isEmpty())
                || !(log.confirmedWhole()
                        instanceof PackManifestLog.Newest.Found(PackManifest newest))) {
            return 0;
        }
        PackManifestLog.Committed<Set<Sha256>> committed =
                log.commit(base -> planWithoutUnused(base, newest, old, expired));
        return committed instanceof PackManifestLog.Committed.Done<Set<Sha256>> done
                ? done.finding().stream()
                        .filter(name -> isRemoved(store.delete(keys.pack(name))))
                        .count()
                : 0;
    }

    /**
     * Returns the plan of a manifest on top of {@code base}, and the packs that it does not need.
     */
    private static ManifestPlan<Set<Sha256>> planWithoutUnused(
            PackManifest base,
            PackManifest newest,
            List<Sha256> old,
            List<PackManifest.Retired> expired) {
        if (base.number() <= newest.number() && !base.isSameAs(newest)) {
            // the newest manifest was damaged meanwhile
            return new ManifestPlan.Nothing<>(Set.of());
        }
        Set<Sha256> unused = new LinkedHashSet<>();
        Set<PackManifest.Retired> dropped = new HashSet<>(base.retired());
        dropped.retainAll(expired);
        dropped.removeIf(one -> base.names(one.name()));
        dropped.forEach(one -> unused.add(one.name()));
        old.stream().filter(name -> !base.namesOrRetires(name)).forEach(unused::add);
        return unused.isEmpty()
                ? new ManifestPlan.Nothing<>(unused)
                : new ManifestPlan.Commit<>(base.withoutRetired(dropped), unused);
    }

    /**
     * Returns true if a pack is old enough by the server's clock; false if the server sends no
     * time.
     */
    private boolean isOld(Orphan orphan) {
        Duration least = orphan.age().compareTo(ORPHAN_AGE) > 0 ? orphan.age() : ORPHAN_AGE;
        return store.head(keys.pack(orphan.name())) instanceof HeadResult.Found found
                && isOlder(found.dates(), least);
    }

    /** Returns true if an object has at least that age by the server's clock. */
    public static boolean isOlder(ServerTimestamps dates, Duration age) {
        return dates.age().filter(actual -> actual.compareTo(age) >= 0).isPresent();
    }

    /**
     * Removes unpacked entries of which a sound copy in a pack was just read. The newest manifest
     * must name that pack, or another one whose index, read from the bucket now, has the entry.
     *
     * @return the number of removed entries
     */
    public long removeCopied(List<VerifiedCopy> entries) {
        if (entries.isEmpty()
                || !(log.confirmedWhole()
                        instanceof PackManifestLog.Newest.Found(PackManifest newest))) {
            return 0;
        }
        // not the local cache: it proves nothing about the bucket
        PackedIdFinder others = new PackedIdFinder(newest, keys, PackIndexCache.NONE, store);
        long removed = 0;
        for (VerifiedCopy one : entries) {
            if ((newest.names(one.copy().name()) || others.contains(one.entry().id()))
                    && remove(one.entry())) {
                removed++;
            }
        }
        return removed;
    }

    /**
     * Removes exactly the listed version. If the server does not support conditional deletes, the
     * version is compared first.
     */
    private boolean remove(UnpackedEntry entry) {
        return switch (store.deleteIfMatch(entry.key(), entry.etag())) {
            case WriteResult.Done _ -> true;
            case WriteResult.NotAllowed refused
            when refused.failure().kind() == StoreFailure.Kind.NOT_SUPPORTED ->
                store.head(entry.key()) instanceof HeadResult.Found found
                        && found.etag().equals(entry.etag())
                        && isRemoved(store.delete(entry.key()));
            case WriteResult.NotAllowed _,
                    WriteResult.PreconditionFailed _,
                    WriteResult.Conflict _,
                    WriteResult.NotSent _,
                    WriteResult.Unknown _ -> false;
        };
    }

    private static boolean isRemoved(WriteResult result) {
        return result instanceof WriteResult.Done;
    }
}
