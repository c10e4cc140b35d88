package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Finds out what there is to be compacted: looks, and changes nothing.
 *
 * <p>Entries that lie alone are folded into packs. Small packs are put together, and packs of which less than a half is live, because older packs have
 * the rest, are rewritten. What is not needed any more is removed after a grace, in which readers come to know the newer manifest. Ages are told by the
 * server's clock alone: since when a manifest has been there that names a pack, or does not name it any more.
 */
final class CompactionPlanner {
    /** Packs that have fewer bytes are put together. */
    private static final long SMALL_BYTES = PackPublisher.FULL_BYTES / 2;

    private final ObjectStore store;
    private final PackKeys keys;
    private final IndexShelf shelf;
    private final Duration grace;
    private final Manifest manifest;
    private final Map<Long, Boolean> overGrace = new HashMap<>();
    private final Map<Sha256, Long> packedSince = new HashMap<>();
    private final List<CompactionPlan.OldPack> small = new ArrayList<>();
    private final List<CompactionPlan.OldPack> mostlyDead = new ArrayList<>();
    private final List<PackInfo> lost = new ArrayList<>();
    private final List<LooseEntry> fold = new ArrayList<>();
    private final List<LooseEntry> redundant = new ArrayList<>();
    private long waiting;

    CompactionPlanner(ObjectStore store, PackKeys keys, IndexShelf shelf, Duration grace, Manifest manifest) {
        this.store = store;
        this.keys = keys;
        this.shelf = shelf;
        this.grace = grace;
        this.manifest = manifest;
    }

    /** The plan, or why there is none. */
    Compaction.Planned plan() {
        for (PackInfo pack : manifest.packs()) {
            switch (TargetPacks.fetchIndex(pack, keys, shelf, store)) {
                case TargetPacks.Indexed.Ok ok -> sort(pack, ok.index());
                case TargetPacks.Indexed.Lost _ -> lost.add(pack);
                case TargetPacks.Indexed.Unsaid unsaid -> {
                    return new Compaction.Planned.Unavailable("the index of a pack cannot be read: " + unsaid.failure());
                }
            }
        }
        String prefix = keys.loosePrefix();
        if (store.list(prefix, object -> LooseEntry.of(object, prefix).ifPresent(this::sort)) instanceof ListResult.Unavailable failed) {
            return new Compaction.Planned.Unavailable("the bucket cannot be listed: " + failed.failure());
        }
        List<CompactionPlan.OldPack> merge = new ArrayList<>(mostlyDead);
        if (small.size() + (fold.isEmpty() ? 0 : 1) + mostlyDead.size() > 1) {
            merge.addAll(small);
        }
        List<Manifest.Retired> expired = new ArrayList<>();
        for (Manifest.Retired retired : manifest.retired()) {
            if (isOverGrace(retired.since())) {
                expired.add(retired);
            } else {
                waiting++;
            }
        }
        return new Compaction.Planned.Ready(new CompactionPlan(manifest, fold, merge, lost, redundant, expired, waiting));
    }

    private void sort(PackInfo pack, PackIndex index) {
        List<Place> live = new ArrayList<>();
        Set<Sha256> seen = new HashSet<>();
        for (Place place : index.places()) {
            if (packedSince.putIfAbsent(place.id(), pack.since()) == null && seen.add(place.id())) {
                live.add(place);
            }
        }
        CompactionPlan.OldPack old = new CompactionPlan.OldPack(pack, List.copyOf(live));
        if (live.size() * 2 < index.size()) {
            mostlyDead.add(old);
        } else if (pack.bytes() < SMALL_BYTES) {
            small.add(old);
        }
    }

    private void sort(LooseEntry entry) {
        Long since = packedSince.get(entry.id());
        if (since == null) {
            if (PackBuilder.fits(entry.bytes())) {
                fold.add(entry);
            }
        } else if (isOverGrace(since)) {
            redundant.add(entry);
        } else {
            waiting++;
        }
    }

    /** True where the manifest of that number has been there for longer than the grace. */
    private boolean isOverGrace(long number) {
        return overGrace.computeIfAbsent(number, _ -> store.head(keys.manifest(number)) instanceof HeadResult.Found found
                && found.dates().age().filter(age -> age.compareTo(grace) >= 0).isPresent());
    }
}
