package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** What a compaction will do. Immutable. */
public final class CompactionPlan {
    private final Manifest base;
    private final List<LooseEntry> fold;
    private final List<OldPack> merge;
    private final List<PackInfo> lost;
    private final List<LooseEntry> redundant;
    private final List<Manifest.Retired> expired;
    private final long waiting;

    /** A pack whose entries move, and where those lie that move. */
    record OldPack(PackInfo pack, List<Place> live) {}

    CompactionPlan(Manifest base, List<LooseEntry> fold, List<OldPack> merge, List<PackInfo> lost, List<LooseEntry> redundant,
            List<Manifest.Retired> expired, long waiting) {
        this.base = base;
        this.fold = List.copyOf(fold);
        this.merge = List.copyOf(merge);
        this.lost = List.copyOf(lost);
        this.redundant = List.copyOf(redundant);
        this.expired = List.copyOf(expired);
        this.waiting = waiting;
    }

    /** True where nothing is to be done. */
    public boolean isEmpty() {
        return fold.isEmpty() && merge.isEmpty() && lost.isEmpty() && redundant.isEmpty() && expired.isEmpty();
    }

    /** How many entries that lie alone go into packs. */
    public long folded() {
        return fold.size();
    }

    /** How many bytes those have. */
    public long foldedBytes() {
        return fold.stream().mapToLong(LooseEntry::bytes).sum();
    }

    /** How many packs are put together, or rewritten without what is dead. */
    public long merged() {
        return merge.size();
    }

    /** How many packs are named and cannot be read: they are named no more. */
    public long lost() {
        return lost.size();
    }

    /** How many objects are removed: entries that have been in a pack for longer than the grace, and packs that have not been named for as long. */
    public long removed() {
        return (long) redundant.size() + expired.size();
    }

    /** How many objects will be removed when their grace is over. */
    public long waiting() {
        return waiting;
    }

    /** How many packs the target has now. */
    public long packs() {
        return base.packs().size();
    }

    Manifest base() {
        return base;
    }

    List<LooseEntry> fold() {
        return fold;
    }

    List<OldPack> merge() {
        return merge;
    }

    List<LooseEntry> redundant() {
        return redundant;
    }

    List<Manifest.Retired> expired() {
        return expired;
    }

    Set<Sha256> lostNames() {
        return lost.stream().map(PackInfo::name).collect(Collectors.toSet());
    }

    /** How many bytes are read and written again. */
    public long bytes() {
        return foldedBytes() + merge.stream().flatMap(old -> old.live().stream()).mapToLong(Place::length).sum();
    }
}
