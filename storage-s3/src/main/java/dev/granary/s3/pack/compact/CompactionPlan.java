package dev.granary.s3.pack.compact;

import dev.granary.cache.Sha256;
import dev.granary.s3.pack.BucketRemover;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.pack.format.UnpackedEntry;
import dev.granary.s3.pack.manifest.PackManifest;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** The plan of a compaction. Immutable. */
public final class CompactionPlan {
    private final PackManifest base;
    private final InPacks packs;
    private final Unpacked unpacked;
    private final long waiting;

    /**
     * A pack and the locations of its entries.
     *
     * @param live the entries that readers take from this pack
     * @param duplicates the entries that an older pack has, too
     */
    record OldPack(PackInfo pack, List<PackLocation> live, List<PackLocation> duplicates) {}

    /** An unpacked entry that has been in a pack for longer than the grace period. */
    record Redundant(UnpackedEntry entry, OldPack pack, PackLocation location) {}

    /**
     * The changes to packs.
     *
     * @param merge packs whose live entries move
     * @param lost packs that are named and cannot be read
     * @param expired packs that have been retired for longer than the grace period
     * @param orphans packs that were never named, for longer than a commit can take: their writers
     *     ended
     */
    record InPacks(
            List<OldPack> merge,
            List<PackInfo> lost,
            List<PackManifest.Retired> expired,
            List<BucketRemover.Orphan> orphans) {
        InPacks {
            merge = List.copyOf(merge);
            lost = List.copyOf(lost);
            expired = List.copyOf(expired);
            orphans = List.copyOf(orphans);
        }
    }

    /**
     * The changes to unpacked entries.
     *
     * @param toPack the entries that no pack has
     * @param redundant the entries that may be removed
     * @param packed the entries that may be removed or that a merged pack has, too, by id; each
     *     replaces a damaged copy in a pack
     * @param tooLarge the number of entries that are too large for a pack
     * @param isTruncated true if the listing ended at the limit of one plan, so that there may be
     *     more unpacked entries
     */
    record Unpacked(
            List<UnpackedEntry> toPack,
            List<Redundant> redundant,
            Map<Sha256, UnpackedEntry> packed,
            long tooLarge,
            boolean isTruncated) {
        Unpacked {
            toPack = List.copyOf(toPack);
            redundant = List.copyOf(redundant);
            packed = Map.copyOf(packed);
        }
    }

    CompactionPlan(PackManifest base, InPacks packs, Unpacked unpacked, long waiting) {
        this.base = base;
        this.packs = packs;
        this.unpacked = unpacked;
        this.waiting = waiting;
    }

    /** Returns true if nothing is to be changed. */
    public boolean isEmpty() {
        return folded() + merged() + lost() + removed() == 0;
    }

    /** Returns the number of unpacked entries that go into packs. */
    public long folded() {
        return unpacked.toPack().size();
    }

    /** Returns the size of the unpacked entries that go into packs, in bytes. */
    public long foldedBytes() {
        return unpacked.toPack().stream().mapToLong(UnpackedEntry::bytes).sum();
    }

    /** Returns the number of entries that stay unpacked because they are too large. */
    public long tooLarge() {
        return unpacked.tooLarge();
    }

    /**
     * Returns true if there are more unpacked entries than one compaction takes; the next one
     * continues.
     */
    public boolean isTruncated() {
        return unpacked.isTruncated();
    }

    /** Returns the number of packs that are merged, or rewritten without duplicates. */
    public long merged() {
        return packs.merge().size();
    }

    /**
     * Returns the number of packs that are named and cannot be read; they will no longer be named.
     */
    public long lost() {
        return packs.lost().size();
    }

    /**
     * Returns the number of objects that are removed: entries that have been packed, and packs that
     * have not been named, for longer than the grace period.
     */
    public long removed() {
        return (long) unpacked.redundant().size()
                + packs.expired().size()
                + packs.orphans().size();
    }

    /** Returns the number of objects that will be removed after their grace period. */
    public long waiting() {
        return waiting;
    }

    /** Returns the number of packs that the target has now. */
    public long packs() {
        return base.packs().size();
    }

    /**
     * Returns the number of bytes that are read: moved entries, and copies that are verified before
     * a removal.
     */
    public long bytes() {
        return foldedBytes()
                + packs.merge().stream()
                        .flatMap(old -> old.live().stream())
                        .mapToLong(PackLocation::length)
                        .sum()
                + unpacked.redundant().stream()
                        .mapToLong(one -> one.location().length())
                        .sum();
    }

    PackManifest base() {
        return base;
    }

    InPacks inPacks() {
        return packs;
    }

    Unpacked unpacked() {
        return unpacked;
    }

    Set<Sha256> lostNames() {
        return packs.lost().stream().map(PackInfo::name).collect(Collectors.toSet());
    }
}
