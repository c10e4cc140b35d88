package dev.granary.s3.pack.compact;

import dev.granary.cache.Sha256;
import dev.granary.s3.pack.BucketRemover;
import dev.granary.s3.pack.PackInfo;
import dev.granary.s3.pack.PackLocation;
import dev.granary.s3.pack.PackManifest;
import dev.granary.s3.pack.UnpackedEntry;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** What a compaction will do. Immutable. */
public final class CompactionPlan {
    private final PackManifest base;
    private final InPacks packs;
    private final Unpacked unpacked;
    private final long waiting;

    /**
     * A pack, and where its entries lie.
     *
     * @param live those that readers take from this pack
     * @param duplicates those that an older pack has, too
     */
    record OldPack(PackInfo pack, List<PackLocation> live, List<PackLocation> duplicates) {}

    /** An entry that lies alone, and has been in a pack for longer than the grace. */
    record Redundant(UnpackedEntry entry, OldPack pack, PackLocation location) {}

    /**
     * What is to be done with packs.
     *
     * @param merge those whose live entries move
     * @param lost those that are named and cannot be read
     * @param expired those that are named no more, for longer than the grace
     * @param orphans those that were never named, for longer than a commit can take: of writers that did not come to it
     */
    record InPacks(List<OldPack> merge, List<PackInfo> lost, List<PackManifest.Retired> expired, List<BucketRemover.Orphan> orphans) {
        InPacks {
            merge = List.copyOf(merge);
            lost = List.copyOf(lost);
            expired = List.copyOf(expired);
            orphans = List.copyOf(orphans);
        }
    }

    /**
     * What is to be done with entries that lie alone.
     *
     * @param toPack those that no pack has
     * @param redundant those that may be removed
     * @param packed all that a pack has, too, by id: what is found damaged in the pack is taken from here
     * @param tooLarge how many stay alone for ever
     * @param isTruncated true if the listing ended at the bound of one plan, so that more entries may lie alone
     */
    record Unpacked(List<UnpackedEntry> toPack, List<Redundant> redundant, Map<Sha256, UnpackedEntry> packed, long tooLarge, boolean isTruncated) {
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

    /** True where nothing is to be done. */
    public boolean isEmpty() {
        return folded() + merged() + lost() + removed() == 0;
    }

    /** How many entries that lie alone go into packs. */
    public long folded() {
        return unpacked.toPack().size();
    }

    /** How many bytes those have. */
    public long foldedBytes() {
        return unpacked.toPack().stream().mapToLong(UnpackedEntry::bytes).sum();
    }

    /** How many entries are too large for a pack and stay alone. */
    public long tooLarge() {
        return unpacked.tooLarge();
    }

    /** True if more entries lie alone than one compaction takes: the next one goes on. */
    public boolean isTruncated() {
        return unpacked.isTruncated();
    }

    /** How many packs are put together, or rewritten without what is dead. */
    public long merged() {
        return packs.merge().size();
    }

    /** How many packs are named and cannot be read: they are named no more. */
    public long lost() {
        return packs.lost().size();
    }

    /** How many objects are removed: entries that have been in a pack for longer than the grace, and packs that have not been named for as long. */
    public long removed() {
        return (long) unpacked.redundant().size() + packs.expired().size() + packs.orphans().size();
    }

    /** How many objects will be removed when their grace is over. */
    public long waiting() {
        return waiting;
    }

    /** How many packs the target has now. */
    public long packs() {
        return base.packs().size();
    }

    /** How many bytes are read: what moves, and what is compared before something is removed. */
    public long bytes() {
        return foldedBytes() + packs.merge().stream().flatMap(old -> old.live().stream()).mapToLong(PackLocation::length).sum()
                + unpacked.redundant().stream().mapToLong(one -> one.location().length()).sum();
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
