package dev.granary.s3.pack.compact;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.BucketRemover;
import dev.granary.s3.pack.PackIndexCache;
import dev.granary.s3.pack.PackIndexReader;
import dev.granary.s3.pack.PackPresence;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.pack.format.UnpackedEntry;
import dev.granary.s3.pack.listing.StopListingException;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Planner of a compaction; changes nothing in the bucket. For one use.
 *
 * <p>Unpacked entries go into packs. Small packs are merged. Packs with less than half of their
 * entries live, because older packs have the rest, are rewritten. Objects that are no longer needed
 * are removed after a grace period, in which readers read the newer manifest. Ages are determined
 * by the server's clock alone: they are those of the first manifest that names a pack, or no longer
 * names it.
 */
public final class CompactionPlanner {
    /** The size in bytes below which packs are merged. */
    private static final long SMALL_BYTES = PackBuilder.FULL_BYTES / 2;

    /**
     * The largest number of unpacked entries that one run packs, and that it removes. A plan has
     * some 500 bytes for each.
     */
    public static final int MAX_UNPACKED = 100_000;

    /** The largest number of packs without a manifest that one run examines. */
    static final int MAX_UNNAMED = 10_000;

    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackIndexCache indexCache;
    private final Duration grace;
    private final PackManifest manifest;
    private final Map<Long, Boolean> overGrace = new HashMap<>();
    private final Map<Sha256, InPack> packed = new HashMap<>();
    private final List<CompactionPlan.OldPack> small = new ArrayList<>();
    private final List<CompactionPlan.OldPack> mostlyDead = new ArrayList<>();
    private final List<PackInfo> lost = new ArrayList<>();
    private final List<UnpackedEntry> toPack = new ArrayList<>();
    private final List<CompactionPlan.Redundant> redundant = new ArrayList<>();
    private final Map<Sha256, UnpackedEntry> packedAndUnpacked = new HashMap<>();
    private final Set<Sha256> named = new HashSet<>();
    private final Set<Sha256> mergeable =
            new HashSet<>(); // the names of small and mostly dead packs
    private long tooLarge;
    private long waiting;

    /** The location at which readers find an entry. */
    private record InPack(CompactionPlan.OldPack pack, PackLocation location) {}

    CompactionPlanner(
            ObjectStore store,
            TargetLayout keys,
            PackIndexCache indexCache,
            Duration grace,
            PackManifest manifest) {
        this.store = store;
        this.keys = keys;
        this.indexCache = indexCache;
        this.grace = grace;
        this.manifest = manifest;
        manifest.packs().forEach(pack -> named.add(pack.name()));
        manifest.retired().forEach(retired -> named.add(retired.name()));
    }

    /** Returns the plan, or the cause that prevents one. */
    PackCompactor.Planned plan() {
        Map<Sha256, Long> present = new HashMap<>();
        List<Sha256> unnamed = new ArrayList<>();
        ListResult packs = store.list(
                keys.packPrefix(), object -> keys.packName(object.key()).ifPresent(name -> {
                    if (named.contains(name)) {
                        present.put(name, object.bytes());
                    } else if (unnamed.size() < MAX_UNNAMED) {
                        unnamed.add(name); // the next run continues
                    }
                }));
        if (packs instanceof ListResult.Unavailable failed) {
            return new PackCompactor.Planned.Unavailable(
                    "the bucket cannot be listed: " + failed.failure());
        }
        for (PackInfo pack : manifest.packs()) {
            switch (index(pack, present.getOrDefault(pack.name(), -1L) == pack.bytes())) {
                case PackIndexReader.IndexResult.Ok ok -> classify(pack, ok.index());
                case PackIndexReader.IndexResult.Forbidden forbidden
                when present.containsKey(pack.name()) -> {
                    return new PackCompactor.Planned.Unavailable(
                            "the index of a pack cannot be read: " + forbidden.failure());
                }
                case PackIndexReader.IndexResult.Lost _, PackIndexReader.IndexResult.Forbidden _ ->
                    lost.add(pack);
                case PackIndexReader.IndexResult.Newer _ -> {} // left to a newer version
                case PackIndexReader.IndexResult.Unavailable unavailable -> {
                    return new PackCompactor.Planned.Unavailable(
                            "the index of a pack cannot be read: " + unavailable.failure());
                }
            }
        }
        String prefix = keys.unpackedPrefix();
        boolean isTruncated = false;
        ListResult entries;
        try {
            entries = store.list(
                    prefix, object -> UnpackedEntry.of(object, prefix).ifPresent(this::classify));
        } catch (StopListingException e) {
            entries = new ListResult.Complete(0);
            isTruncated = true;
        }
        if (entries instanceof ListResult.Unavailable failed) {
            return new PackCompactor.Planned.Unavailable(
                    "the bucket cannot be listed: " + failed.failure());
        }
        return new PackCompactor.Planned.Ready(new CompactionPlan(
                manifest,
                new CompactionPlan.InPacks(merge(), lost, expired(), orphans(unnamed)),
                new CompactionPlan.Unpacked(
                        toPack, redundant, packedAndUnpacked, tooLarge, isTruncated),
                waiting));
    }

    /** Adds an element; ends the listing if the list has {@code limit} elements. */
    private static <T> void addUpTo(int limit, List<T> list, T one) {
        if (list.size() == limit) {
            throw new StopListingException();
        }
        list.add(one);
    }

    /**
     * Reads an index. A pack counts as lost after two wrong responses only. A cached index is not
     * enough for a pack to count as present: the listing, or a request for the pack, must show it.
     */
    private PackIndexReader.IndexResult index(PackInfo pack, boolean isListed) {
        PackIndexReader.IndexResult indexed = PackIndexReader.read(pack, keys, indexCache, store);
        if (indexed instanceof PackIndexReader.IndexResult.Lost
                || indexed instanceof PackIndexReader.IndexResult.Forbidden) {
            return PackIndexReader.read(pack, keys, indexCache, store);
        }
        return !(indexed instanceof PackIndexReader.IndexResult.Ok) || isListed
                ? indexed
                : switch (PackPresence.of(pack, keys, store)) {
                    case THERE -> indexed;
                    case GONE -> new PackIndexReader.IndexResult.Lost("it is not there");
                    case UNKNOWN ->
                        new PackIndexReader.IndexResult.Unavailable(StoreFailure.of(
                                StoreFailure.Kind.SERVER,
                                "a listing does not show " + keys.pack(pack.name())));
                };
    }

    private List<CompactionPlan.OldPack> merge() {
        List<CompactionPlan.OldPack> merge = new ArrayList<>(mostlyDead);
        if (small.size() + (toPack.isEmpty() ? 0 : 1) + mostlyDead.size() > 1) {
            merge.addAll(small);
        }
        return merge;
    }

    private List<PackManifest.Retired> expired() {
        List<PackManifest.Retired> expired = new ArrayList<>();
        for (PackManifest.Retired retired : manifest.retired()) {
            if (isOverGrace(retired.since())) {
                expired.add(retired);
            } else {
                waiting++;
            }
        }
        return expired;
    }

    private void classify(PackInfo pack, PackIndex index) {
        List<PackLocation> live = new ArrayList<>();
        List<PackLocation> duplicates = new ArrayList<>();
        CompactionPlan.OldPack old = new CompactionPlan.OldPack(pack, live, duplicates);
        for (PackLocation location : index.locations()) {
            boolean isFirst = packed.putIfAbsent(location.id(), new InPack(old, location)) == null;
            (isFirst ? live : duplicates).add(location);
        }
        if (live.size() * 2 < index.size()) {
            mostlyDead.add(old);
            mergeable.add(pack.name());
        } else if (pack.bytes() < SMALL_BYTES) {
            small.add(old);
            mergeable.add(pack.name());
        }
    }

    private void classify(UnpackedEntry entry) {
        InPack in = packed.get(entry.id());
        if (in == null) {
            if (PackBuilder.fits(entry.bytes())) {
                addUpTo(MAX_UNPACKED, toPack, entry);
            } else {
                tooLarge++;
            }
            return;
        }
        boolean isRedundant = isOverGrace(in.pack().pack().since());
        if (isRedundant) {
            addUpTo(
                    MAX_UNPACKED,
                    redundant,
                    new CompactionPlan.Redundant(entry, in.pack(), in.location()));
        } else {
            waiting++;
        }
        // of the waiting entries, of which there may be millions, only those whose pack may move
        if (isRedundant || mergeable.contains(in.pack().pack().name())) {
            packedAndUnpacked.put(entry.id(), entry);
        }
    }

    /**
     * Returns true if the manifest of that number has existed for longer than the grace period. If
     * it is gone, the newest one decides, which is younger.
     */
    private boolean isOverGrace(long number) {
        return overGrace.computeIfAbsent(number, _ -> switch (store.head(keys.manifest(number))) {
            case HeadResult.Found found -> BucketRemover.isOlder(found.dates(), grace);
            case HeadResult.Absent _ ->
                store.head(keys.manifest(manifest.number())) instanceof HeadResult.Found newest
                        && BucketRemover.isOlder(newest.dates(), grace);
            case HeadResult.Unavailable _ -> false;
        });
    }

    private List<BucketRemover.Orphan> orphans(List<Sha256> unnamed) {
        Duration age =
                grace.compareTo(BucketRemover.ORPHAN_AGE) > 0 ? grace : BucketRemover.ORPHAN_AGE;
        List<BucketRemover.Orphan> orphans = new ArrayList<>();
        for (Sha256 name : unnamed) {
            if (store.head(keys.pack(name)) instanceof HeadResult.Found found) {
                if (BucketRemover.isOlder(found.dates(), age)) {
                    orphans.add(new BucketRemover.Orphan(name, age));
                } else {
                    waiting++;
                }
            }
        }
        return orphans;
    }
}
