package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongConsumer;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/**
 * Folds the entries of one target that lie alone into packs, puts small packs together, and removes what no reader can be using any more.
 *
 * <p>It may be stopped at any moment, and any number may run at once: packs are written first, one commit of the manifest puts them in the place of
 * what they replace, and only what has been of no use for the grace is removed. Whose plan another's commit has overtaken plans again. No entry that
 * lies alone is removed before its copy in a pack was read and found sound; where it is not, the entry that lies alone takes its place.
 */
public final class Compaction {
    private final ObjectStore store;
    private final PackKeys keys;
    private final IndexShelf shelf;
    private final ManifestLog log;
    private final PackWriter writer;
    private final RandomGenerator random;

    Compaction(ObjectStore store, PackKeys keys, IndexShelf shelf, ManifestLog log, PackWriter writer, RandomGenerator random) {
        this.store = store;
        this.keys = keys;
        this.shelf = shelf;
        this.log = log;
        this.writer = writer;
        this.random = random;
    }

    /** The outcome of planning. */
    public sealed interface Planned {
        /**
         * This is to be done.
         *
         * @param plan what
         */
        record Ready(CompactionPlan plan) implements Planned {}

        /**
         * The bucket cannot be read.
         *
         * @param cause why, for people
         */
        record Unavailable(String cause) implements Planned {}
    }

    /** The outcome of a compaction. */
    public sealed interface Result {
        /**
         * It is done.
         *
         * @param packed entries that lie in new packs
         * @param written packs that were written
         * @param removed objects that were removed
         * @param unremoved objects that were to be removed, and could not be
         * @param left entries that were left where they are, because they are damaged, too large for a pack, or could not be read
         * @param dropped damaged entries that were in packs and are in none any more
         * @param loose what the manifest says now of entries outside of packs
         */
        record Done(long packed, long written, long removed, long unremoved, long left, long dropped, Manifest.Loose loose) implements Result {}

        /** Another writer has replaced packs that were to be put together: plan again. */
        record Overtaken() implements Result {}

        /**
         * It was not done, or nobody knows; nothing is lost.
         *
         * @param cause why, for people
         */
        record Failed(String cause) implements Result {}
    }

    /**
     * Finds out what there is to do.
     *
     * @param grace how long what is not needed any more stays, for readers that do not know it yet: longer than a manifest interval and the
     *     longest read
     */
    public Planned plan(Duration grace) {
        return switch (log.newest(Manifest.NONE)) {
            case ManifestLog.Newest.Found found -> new CompactionPlanner(store, keys, shelf, grace, found.manifest()).plan();
            case ManifestLog.Newest.Unavailable lost -> new Planned.Unavailable(lost.cause());
        };
    }

    /**
     * Does what was planned.
     *
     * @param loose what the manifest says of entries outside of packs afterwards, if none was left there
     * @param progress told how many bytes were read so far
     */
    public Result run(CompactionPlan plan, Manifest.Loose loose, LongConsumer progress) {
        Repacking repacking = new Repacking(store, keys, writer, random, progress);
        List<LooseEntry> removable = new ArrayList<>();
        try {
            Set<CompactionPlan.OldPack> merge = new LinkedHashSet<>(plan.inPacks().merge());
            merge.addAll(check(plan.alone().redundant(), repacking, removable));
            repack(plan.alone(), merge, repacking);
        } catch (Repacking.CannotWrite e) {
            forget(repacking.written());
            return new Result.Failed("a pack could not be written: " + e.failure());
        }
        boolean mayLieAlone = repacking.left() + plan.tooLarge() > 0;
        return commit(plan, removable, mayLieAlone ? Manifest.Loose.ALLOWED : loose, repacking);
    }

    /** Reads what packs have of entries that are to be removed outside; returns the packs where something is not sound. */
    private static Set<CompactionPlan.OldPack> check(List<CompactionPlan.Redundant> redundant, Repacking repacking, List<LooseEntry> removable) {
        Map<CompactionPlan.OldPack, Map<Place, LooseEntry>> byPack = new LinkedHashMap<>();
        redundant.forEach(one -> byPack.computeIfAbsent(one.pack(), _ -> new LinkedHashMap<>()).put(one.place(), one.entry()));
        Set<CompactionPlan.OldPack> unsound = new LinkedHashSet<>();
        byPack.forEach((old, entries) -> repacking.check(old.pack(), List.copyOf(entries.keySet()),
                place -> removable.add(entries.get(place)), _ -> unsound.add(old)));
        return unsound;
    }

    /** What is not sound in one place is looked for in the others. */
    private static void repack(CompactionPlan.Alone alone, Set<CompactionPlan.OldPack> merge, Repacking repacking) throws Repacking.CannotWrite {
        for (CompactionPlan.OldPack old : merge) {
            repacking.move(old);
        }
        for (CompactionPlan.OldPack old : merge) {
            repacking.moveSpare(old);
        }
        for (Sha256 id : List.copyOf(repacking.missing())) {
            if (alone.packed().containsKey(id)) {
                repacking.fold(alone.packed().get(id));
            }
        }
        for (LooseEntry entry : alone.fold()) {
            repacking.fold(entry);
        }
        repacking.finish();
    }

    private Result commit(CompactionPlan plan, List<LooseEntry> removable, Manifest.Loose loose, Repacking repacked) {
        Set<Sha256> replaced = new HashSet<>(repacked.moved());
        replaced.addAll(plan.lostNames());
        boolean isChanged = !replaced.isEmpty() || !repacked.written().isEmpty() || plan.base().loose() != loose;
        ManifestLog.Committed committed =
                isChanged ? log.commit(base -> next(base, replaced, repacked.written(), loose)) : new ManifestLog.Committed.Done(plan.base());
        return switch (committed) {
            case ManifestLog.Committed.Done _ -> {
                long removed = remove(plan.inPacks(), removable);
                yield new Result.Done(repacked.packed(), repacked.written().size(), removed,
                        removable.size() + plan.inPacks().expired().size() + plan.inPacks().orphans().size() - removed,
                        repacked.left() + plan.tooLarge(), repacked.missing().size(), loose);
            }
            case ManifestLog.Committed.Overtaken _ -> {
                forget(repacked.written());
                yield new Result.Overtaken();
            }
            case ManifestLog.Committed.Failed failed -> {
                forget(repacked.written());
                yield new Result.Failed("the manifest could not be committed: " + failed.cause());
            }
            case ManifestLog.Committed.Unknown unknown ->
                new Result.Failed("whether the manifest is committed nobody can say: " + unknown.cause());
        };
    }

    private static Optional<Manifest> next(Manifest base, Set<Sha256> replaced, List<PackInfo> with, Manifest.Loose loose) {
        Set<Sha256> named = new HashSet<>();
        base.packs().forEach(pack -> named.add(pack.name()));
        return named.containsAll(replaced) ? Optional.of(base.replacing(replaced, with, loose)) : Optional.empty();
    }

    /**
     * Removes packs that were written for nothing. Whose answer was wrong may have been committed all the same: what the newest manifest names stays,
     * and where nobody can say, so does all. What stays unnamed is an orphan, and goes later.
     */
    private void forget(List<PackInfo> packs) {
        if (!packs.isEmpty() && log.newest(Manifest.NONE) instanceof ManifestLog.Newest.Found(Manifest newest)) {
            Set<Sha256> named = newest.packs().stream().map(PackInfo::name).collect(Collectors.toSet());
            for (PackInfo pack : packs) {
                if (!named.contains(pack.name())) {
                    WriteResult ignored = store.delete(keys.pack(pack.name()));
                }
            }
        }
    }

    /** Removes what was planned; what cannot be removed is left to the next compaction. */
    private long remove(CompactionPlan.InPacks packs, List<LooseEntry> entries) {
        long removed = entries.stream().filter(this::remove).count();
        removed += packs.orphans().stream().filter(pack -> store.delete(keys.pack(pack)) instanceof WriteResult.Done).count();
        Set<Manifest.Retired> gone = new HashSet<>();
        for (Manifest.Retired retired : packs.expired()) {
            if (store.delete(keys.pack(retired.name())) instanceof WriteResult.Done) {
                gone.add(retired);
            }
        }
        if (!gone.isEmpty()) {
            log.commit(base -> Optional.of(base.forgetting(gone)));
        }
        return removed + gone.size();
    }

    /** Where the server knows no conditional deletes, the version is compared first. */
    private boolean remove(LooseEntry entry) {
        return switch (store.deleteIfMatch(entry.key(), entry.etag())) {
            case WriteResult.Done _ -> true;
            case WriteResult.NotAllowed _ -> store.head(entry.key()) instanceof HeadResult.Found found && found.etag().equals(entry.etag())
                    && store.delete(entry.key()) instanceof WriteResult.Done;
            case WriteResult.PreconditionFailed _, WriteResult.Conflict _, WriteResult.NotSent _, WriteResult.Unknown _ -> false;
        };
    }
}
