package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerDates;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Finds out what there is to be compacted: looks, and changes nothing. For one use.
 *
 * <p>Entries that lie alone are folded into packs. Small packs are put together, and packs of which less than a half is live, because older packs have
 * the rest, are rewritten. What is not needed any more is removed after a grace, in which readers come to know the newer manifest. Ages are told by the
 * server's clock alone: since when a manifest has been there that names a pack, or does not name it any more.
 */
final class CompactionPlanner {
    /** Packs that have fewer bytes are put together. */
    private static final long SMALL_BYTES = PackPublisher.FULL_BYTES / 2;

    /** Longer than any writer takes from writing a pack to naming it. */
    private static final Duration LONGEST_COMMIT = Duration.ofHours(1);

    /** How many entries that lie alone one run folds, and how many it removes: a plan has some 500 bytes for each. */
    static final int MAX_ALONE = 100_000;

    /** How many packs that nobody names one run looks at. */
    static final int MAX_UNNAMED = 10_000;

    private final ObjectStore store;
    private final PackKeys keys;
    private final IndexShelf shelf;
    private final Duration grace;
    private final Manifest manifest;
    private final Map<Long, Boolean> overGrace = new HashMap<>();
    private final Map<Sha256, InPack> packed = new HashMap<>();
    private final List<CompactionPlan.OldPack> small = new ArrayList<>();
    private final List<CompactionPlan.OldPack> mostlyDead = new ArrayList<>();
    private final List<PackInfo> lost = new ArrayList<>();
    private final List<LooseEntry> fold = new ArrayList<>();
    private final List<CompactionPlan.Redundant> redundant = new ArrayList<>();
    private final Map<Sha256, LooseEntry> packedAndAlone = new HashMap<>();
    private final Set<Sha256> named = new HashSet<>();
    private long tooLarge;
    private long waiting;

    /** Where readers find an entry. */
    private record InPack(CompactionPlan.OldPack pack, Place place) {}

    CompactionPlanner(ObjectStore store, PackKeys keys, IndexShelf shelf, Duration grace, Manifest manifest) {
        this.store = store;
        this.keys = keys;
        this.shelf = shelf;
        this.grace = grace;
        this.manifest = manifest;
        manifest.packs().forEach(pack -> named.add(pack.name()));
        manifest.retired().forEach(retired -> named.add(retired.name()));
    }

    /** The plan, or why there is none. */
    Compaction.Planned plan() {
        for (PackInfo pack : manifest.packs()) {
            switch (index(pack)) {
                case TargetPacks.Indexed.Ok ok -> sort(pack, ok.index());
                case TargetPacks.Indexed.Lost _ -> lost.add(pack);
                case TargetPacks.Indexed.Newer _ -> {} // left to those who can read it
                case TargetPacks.Indexed.Unsaid unsaid -> {
                    return new Compaction.Planned.Unavailable("the index of a pack cannot be read: " + unsaid.failure());
                }
            }
        }
        String prefix = keys.loosePrefix();
        List<Sha256> unnamed = new ArrayList<>();
        ListResult entries = listed(prefix, object -> LooseEntry.of(object, prefix).ifPresent(this::sort));
        ListResult packs = listed(keys.packPrefix(), object -> keys.nameOfPack(object.key()).filter(name -> !named.contains(name))
                .ifPresent(name -> addTo(unnamed, name, MAX_UNNAMED)));
        for (ListResult listed : List.of(entries, packs)) {
            if (listed instanceof ListResult.Unavailable failed) {
                return new Compaction.Planned.Unavailable("the bucket cannot be listed: " + failed.failure());
            }
        }
        return new Compaction.Planned.Ready(new CompactionPlan(manifest,
                new CompactionPlan.InPacks(merge(), lost, expired(), unnamed.stream().filter(this::isOrphan).toList()),
                new CompactionPlan.Alone(fold, redundant, packedAndAlone, tooLarge), waiting));
    }

    /** A listing, or as much of it as one run is to deal with: the next run goes on. */
    private ListResult listed(String prefix, Consumer<ObjectStore.Listed> visitor) {
        try {
            return store.list(prefix, visitor);
        } catch (EnoughListed e) {
            return new ListResult.Complete(0);
        }
    }

    private static <T> void addTo(List<T> list, T one, int most) {
        if (list.size() == most) {
            throw new EnoughListed();
        }
        list.add(one);
    }

    /** One wrong answer is not enough to give a pack up. */
    private TargetPacks.Indexed index(PackInfo pack) {
        TargetPacks.Indexed indexed = TargetPacks.fetchIndex(pack, keys, shelf, store);
        return indexed instanceof TargetPacks.Indexed.Lost ? TargetPacks.fetchIndex(pack, keys, shelf, store) : indexed;
    }

    private List<CompactionPlan.OldPack> merge() {
        List<CompactionPlan.OldPack> merge = new ArrayList<>(mostlyDead);
        if (small.size() + (fold.isEmpty() ? 0 : 1) + mostlyDead.size() > 1) {
            merge.addAll(small);
        }
        return merge;
    }

    private List<Manifest.Retired> expired() {
        List<Manifest.Retired> expired = new ArrayList<>();
        for (Manifest.Retired retired : manifest.retired()) {
            if (isOverGrace(retired.since())) {
                expired.add(retired);
            } else {
                waiting++;
            }
        }
        return expired;
    }

    private void sort(PackInfo pack, PackIndex index) {
        List<Place> live = new ArrayList<>();
        List<Place> spare = new ArrayList<>();
        CompactionPlan.OldPack old = new CompactionPlan.OldPack(pack, live, spare);
        for (Place place : index.places()) {
            boolean isFirst = packed.putIfAbsent(place.id(), new InPack(old, place)) == null;
            (isFirst ? live : spare).add(place);
        }
        if (live.size() * 2 < index.size()) {
            mostlyDead.add(old);
        } else if (pack.bytes() < SMALL_BYTES) {
            small.add(old);
        }
    }

    private void sort(LooseEntry entry) {
        InPack in = packed.get(entry.id());
        if (in == null) {
            if (PackBuilder.fits(entry.bytes())) {
                addTo(fold, entry, MAX_ALONE);
            } else {
                tooLarge++;
            }
            return;
        }
        packedAndAlone.put(entry.id(), entry);
        if (isOverGrace(in.pack().pack().since())) {
            addTo(redundant, new CompactionPlan.Redundant(entry, in.pack(), in.place()), MAX_ALONE);
        } else {
            waiting++;
        }
    }

    /** True where the manifest of that number has been there for longer than the grace. Where it is gone, the newest one tells, which is younger. */
    private boolean isOverGrace(long number) {
        return overGrace.computeIfAbsent(number, _ -> switch (store.head(keys.manifest(number))) {
            case HeadResult.Found found -> isOlder(found.dates(), grace);
            case HeadResult.Absent _ -> store.head(keys.manifest(manifest.number())) instanceof HeadResult.Found newest && isOlder(newest.dates(), grace);
            case HeadResult.Unavailable _ -> false;
        });
    }

    private static boolean isOlder(ServerDates dates, Duration age) {
        return dates.age().filter(actual -> actual.compareTo(age) >= 0).isPresent();
    }

    private boolean isOrphan(Sha256 pack) {
        Duration age = grace.compareTo(LONGEST_COMMIT) > 0 ? grace : LONGEST_COMMIT;
        if (store.head(keys.pack(pack)) instanceof HeadResult.Found found) {
            boolean isOld = isOlder(found.dates(), age);
            waiting += isOld ? 0 : 1;
            return isOld;
        }
        return false;
    }
}
