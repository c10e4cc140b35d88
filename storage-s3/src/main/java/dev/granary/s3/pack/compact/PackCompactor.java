package dev.granary.s3.pack.compact;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.BucketRemover;
import dev.granary.s3.pack.PackIndexCache;
import dev.granary.s3.pack.PackInfo;
import dev.granary.s3.pack.PackLocation;
import dev.granary.s3.pack.PackManifest;
import dev.granary.s3.pack.PackManifestLog;
import dev.granary.s3.pack.PackWriter;
import dev.granary.s3.pack.PackedIdFinder;
import dev.granary.s3.pack.StopListingException;
import dev.granary.s3.pack.TargetPackReader;
import dev.granary.s3.pack.UnpackedEntry;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Folds the entries of one target that lie alone into packs, puts small packs together, and removes what no reader can be using any more.
 *
 * <p>It may be stopped at any moment, and any number may run at once: packs are written first, one commit of the manifest puts them in the place of
 * what they replace, and only what has been of no use for the grace is removed. Whose plan another's commit has overtaken plans again. No entry that
 * lies alone is removed before its copy in a pack was read and found sound; where it is not, the entry that lies alone takes its place.
 */
public final class PackCompactor {
    /** How often a seal is tried that other writers overtake. */
    private static final int MAX_SEALINGS = 3;

    private static final int LISTINGS = 2;

    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackIndexCache shelf;
    private final PackManifestLog log;
    private final PackWriter writer;
    private final BucketRemover remover;
    private final RandomGenerator random;

    public PackCompactor(ObjectStore store, TargetLayout keys, PackIndexCache shelf, PackManifestLog log, PackWriter writer, RandomGenerator random) {
        this.store = store;
        this.keys = keys;
        this.shelf = shelf;
        this.log = log;
        this.writer = writer;
        this.remover = new BucketRemover(store, keys, log);
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

    /**
     * Entries that a compaction did not put into packs.
     *
     * @param damaged those that lie alone and are damaged, each by two answers
     * @param damagedKeys the keys of the first {@value #MAX_NAMED} of those
     * @param unread those that could not be read now
     * @param tooLarge those that are too large for a pack
     * @param otherVersion those that lie alone and that another version of Granary wrote
     * @param gone those that were listed and are not there any more
     * @param isCut true if more entries lie alone than one compaction takes: the next one goes on
     */
    public record Left(long damaged, List<String> damagedKeys, long unread, long tooLarge, long otherVersion, long gone, boolean isCut) {
        /** How many damaged entries are named at most. */
        public static final int MAX_NAMED = 100;

        /** None. */
        static final Left NONE = new Left(0, List.of(), 0, 0, 0, 0, false);

        /** Copies the keys. */
        public Left {
            damagedKeys = List.copyOf(damagedKeys);
        }

        /** How many of those that were listed stay where they are. */
        public long total() {
            return damaged + unread + tooLarge + otherVersion;
        }

        Left plusDamaged(String key) {
            List<String> keys = damaged < MAX_NAMED ? Stream.concat(damagedKeys.stream(), Stream.of(key)).toList() : damagedKeys;
            return new Left(damaged + 1, keys, unread, tooLarge, otherVersion, gone, isCut);
        }

        Left plusUnread(long more) {
            return new Left(damaged, damagedKeys, unread + more, tooLarge, otherVersion, gone, isCut);
        }

        Left plusTooLarge(long more) {
            return new Left(damaged, damagedKeys, unread, tooLarge + more, otherVersion, gone, isCut);
        }

        Left plusOtherVersion() {
            return new Left(damaged, damagedKeys, unread, tooLarge, otherVersion + 1, gone, isCut);
        }

        Left plusGone() {
            return new Left(damaged, damagedKeys, unread, tooLarge, otherVersion, gone + 1, isCut);
        }

        /** With what the plan left out. */
        Left and(CompactionPlan.Alone planned) {
            return new Left(damaged, damagedKeys, unread, tooLarge + planned.tooLarge(), otherVersion, gone, planned.isCut());
        }
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
         * @param left entries that are in no new pack
         * @param dropped damaged entries that were in packs and are in none any more
         * @param loose what the manifest says now of entries outside of packs
         */
        record Done(long packed, long written, long removed, long unremoved, Left left, long dropped, PackManifest.Loose loose) implements Result {}

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
        return switch (log.confirmed()) {
            case PackManifestLog.Newest.Found found -> new CompactionPlanner(store, keys, shelf, grace, found.manifest()).plan();
            case PackManifestLog.Newest.Unavailable lost -> new Planned.Unavailable(lost.cause());
        };
    }

    /**
     * Does what was planned.
     *
     * @param loose what the manifest says of entries outside of packs afterwards, if none was left there
     * @param progress told how many bytes were read so far
     */
    public Result run(CompactionPlan plan, PackManifest.Loose loose, LongConsumer progress) {
        PackRewriter repacking = new PackRewriter(store, keys, writer, random, progress);
        List<BucketRemover.Copied> removable = new ArrayList<>();
        Set<CompactionPlan.OldPack> merge = new LinkedHashSet<>(plan.inPacks().merge());
        try {
            merge.addAll(check(plan.alone().redundant(), repacking, removable));
            repack(plan.alone(), merge, repacking);
        } catch (PackRewriter.CannotWrite e) {
            remover.removeOwn(repacking.written());
            return new Result.Failed("a pack could not be written: " + e.failure());
        }
        Left left = repacking.left().and(plan.alone());
        boolean mayLieAlone = left.total() > 0 || left.isCut();
        return commit(plan, merge, removable, mayLieAlone ? Sealing.UNWANTED : loose == PackManifest.Loose.NONE ? Sealing.WANTED : Sealing.UNWANTED,
                repacking);
    }

    /** Reads what packs have of entries that are to be removed outside; returns the packs where something is not sound. */
    private static Set<CompactionPlan.OldPack> check(List<CompactionPlan.Redundant> redundant, PackRewriter repacking,
            List<BucketRemover.Copied> removable) {
        Map<CompactionPlan.OldPack, Map<PackLocation, UnpackedEntry>> byPack = new LinkedHashMap<>();
        redundant.forEach(one -> byPack.computeIfAbsent(one.pack(), _ -> new LinkedHashMap<>()).put(one.place(), one.entry()));
        Set<CompactionPlan.OldPack> unsound = new LinkedHashSet<>();
        byPack.forEach((old, entries) -> repacking.check(old.pack(), List.copyOf(entries.keySet()),
                place -> removable.add(new BucketRemover.Copied(Objects.requireNonNull(entries.get(place)), old.pack())), _ -> unsound.add(old)));
        return unsound;
    }

    /** What is not sound in one place is looked for in the others. */
    private static void repack(CompactionPlan.Alone alone, Set<CompactionPlan.OldPack> merge, PackRewriter repacking) throws PackRewriter.CannotWrite {
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
        for (UnpackedEntry entry : alone.fold()) {
            repacking.fold(entry);
        }
        repacking.finish();
    }

    /** Whether the target is to be sealed. */
    private enum Sealing {
        WANTED, UNWANTED;

        /**
         * What the next manifest says. A seal stays as it is if every entry that packs had is in packs still; else the manifest tells of the intent, and
         * what lies alone is listed again.
         */
        PackManifest.Loose over(PackManifest base, boolean areAllKept) {
            return this == UNWANTED ? PackManifest.Loose.ALLOWED
                    : base.loose() == PackManifest.Loose.NONE && areAllKept ? PackManifest.Loose.NONE : PackManifest.Loose.SEALING;
        }
    }

    private Result commit(CompactionPlan plan, Set<CompactionPlan.OldPack> merge, List<BucketRemover.Copied> removable, Sealing sealing,
            PackRewriter repacked) {
        Optional<String> lost = lost(repacked.written(), pack -> writer.named(pack, keys));
        if (lost.isPresent()) {
            remover.removeOwn(repacked.written());
            return new Result.Failed(lost.get());
        }
        Set<Sha256> replaced = new HashSet<>(repacked.moved());
        replaced.addAll(plan.lostNames());
        boolean areAllKept = plan.lostNames().isEmpty() && repacked.missing().isEmpty();
        boolean isChanged = !replaced.isEmpty() || !repacked.written().isEmpty()
                || plan.base().loose() != sealing.over(plan.base(), areAllKept);
        PackManifestLog.Committed committed = isChanged || !log.repairHint(plan.base())
                ? log.commit(base -> next(base, replaced, repacked.written(), sealing.over(base, areAllKept)))
                : new PackManifestLog.Committed.Done(plan.base());
        return switch (committed) {
            case PackManifestLog.Committed.Done(PackManifest done) -> {
                Optional<String> since = lost(repacked.written(), pack -> writer.named(pack, keys, done.number()));
                yield since.isPresent()
                        ? undo(merge, repacked, since.get())
                        : finish(plan, removable, sealing == Sealing.WANTED ? sealed(done) : PackManifest.Loose.ALLOWED, repacked);
            }
            case PackManifestLog.Committed.Overtaken _ -> {
                remover.removeOwn(repacked.written());
                yield new Result.Overtaken();
            }
            case PackManifestLog.Committed.Failed failed -> {
                remover.removeOwn(repacked.written());
                yield new Result.Failed("the manifest could not be committed: " + failed.cause());
            }
            case PackManifestLog.Committed.Unknown unknown ->
                new Result.Failed("whether the manifest is committed nobody can say: " + unknown.cause());
        };
    }

    private static Optional<PackManifest> next(PackManifest base, Set<Sha256> replaced, List<PackInfo> with, PackManifest.Loose loose) {
        Set<Sha256> named = new HashSet<>();
        base.packs().forEach(pack -> named.add(pack.name()));
        return named.containsAll(replaced) ? Optional.of(base.replacing(replaced, with, loose)) : Optional.empty();
    }

    /** Why the new packs cannot be relied on, if they cannot: this process may have stood still, and another one have taken them for orphans. */
    private static Optional<String> lost(List<PackInfo> written, Function<PackInfo, PackWriter.Named> asked) {
        for (PackInfo pack : written) {
            switch (asked.apply(pack)) {
                case PackWriter.Named.Lasting _ -> {}
                case PackWriter.Named.Gone _ -> {
                    return Optional.of("a pack that was just written is gone");
                }
                case PackWriter.Named.Late _ -> {
                    return Optional.of("a pack that was written is older than " + BucketRemover.LONGEST_COMMIT.toHours() + " hours before its commit");
                }
                case PackWriter.Named.Unknown unknown -> {
                    return Optional.of("whether a pack that was just written is there nobody can say: " + unknown.failure());
                }
            }
        }
        return Optional.empty();
    }

    /**
     * Mends a commit whose packs cannot be relied on: the packs that they replaced are named again, if they are there. No pack that is there loses its
     * name: another process may have removed meanwhile what the new ones replaced.
     */
    private Result undo(Set<CompactionPlan.OldPack> merge, PackRewriter repacked, String cause) {
        List<PackInfo> old = merge.stream().map(CompactionPlan.OldPack::pack).filter(pack -> repacked.moved().contains(pack.name())).toList();
        PackManifestLog.Committed undone = log.commit(base -> {
            Set<Sha256> gone = repacked.written().stream().filter(pack -> base.names(pack.name()) && isGone(pack)).map(PackInfo::name)
                    .collect(Collectors.toSet());
            List<PackInfo> back = old.stream()
                    .filter(pack -> !base.names(pack.name()) && TargetPackReader.presence(pack, keys, store) == TargetPackReader.Presence.THERE).toList();
            return gone.isEmpty() && back.isEmpty() ? Optional.empty() : Optional.of(base.restoring(gone, back));
        });
        return new Result.Failed(cause + switch (undone) {
            case PackManifestLog.Committed.Done _ -> "; the manifest names again what was replaced and is there";
            case PackManifestLog.Committed.Overtaken _ -> "; nothing that was replaced is there to be named again";
            case PackManifestLog.Committed.Failed failed -> "; the manifest could not be mended: " + failed.cause();
            case PackManifestLog.Committed.Unknown unknown -> "; whether the manifest is mended nobody can say: " + unknown.cause();
        });
    }

    private boolean isGone(PackInfo pack) {
        return TargetPackReader.presence(pack, keys, store) == TargetPackReader.Presence.GONE;
    }

    /** Removes what was planned; what cannot be removed is left to the next compaction. */
    private Result.Done finish(CompactionPlan plan, List<BucketRemover.Copied> removable, PackManifest.Loose said, PackRewriter repacked) {
        CompactionPlan.InPacks packs = plan.inPacks();
        long removed = remover.removeCopied(removable) + remover.removeOrphans(packs.orphans());
        Set<PackManifest.Retired> gone = remover.removeRetired(packs.expired());
        if (!gone.isEmpty()) {
            log.commit(base -> Optional.of(base.forgetting(gone)));
        }
        removed += gone.size();
        return new Result.Done(repacked.packed(), repacked.written().size(), removed,
                removable.size() + packs.expired().size() + packs.orphans().size() - removed,
                repacked.left().and(plan.alone()), repacked.missing().size(), said);
    }

    /**
     * Commits that nothing lies outside of packs, if that is so.
     *
     * <p>The intent is committed before what lies alone is listed. So whoever publishes an entry alone, and too late for the listing, finds the intent
     * afterwards, or the seal, and commits that entries may lie alone. The seal is committed on top of the very manifest under which was listed, and on no
     * other: then nobody has done so meanwhile. If this process dies in between, the intent stays, which costs the next one that publishes alone a commit.
     *
     * @param committed the newest manifest, which is sealed, or tells of the intent
     * @return what the newest manifest says, as far as it is known
     */
    private PackManifest.Loose sealed(PackManifest committed) {
        PackManifest newest = committed;
        for (int attempt = 0; attempt < MAX_SEALINGS && newest.loose() == PackManifest.Loose.SEALING && isNothingAlone(newest); attempt++) {
            PackManifest intent = newest;
            if (log.commit(base -> base.isSameAs(intent) ? Optional.of(intent.saying(PackManifest.Loose.NONE)) : Optional.empty())
                    instanceof PackManifestLog.Committed.Done) {
                return PackManifest.Loose.NONE;
            }
            newest = log.confirmed() instanceof PackManifestLog.Newest.Found(PackManifest now) ? now : PackManifest.NONE; // packs were published, or entries alone
        }
        if (newest.loose() == PackManifest.Loose.NONE && isNothingAlone(newest)) {
            return PackManifest.Loose.NONE;
        }
        log.commit(base -> base.loose() == PackManifest.Loose.ALLOWED ? Optional.empty() : Optional.of(base.saying(PackManifest.Loose.ALLOWED)));
        return PackManifest.Loose.ALLOWED;
    }

    /** True if every entry that lies alone is in a pack, too, by two listings: one that lags behind is outweighed by one that does not. */
    private boolean isNothingAlone(PackManifest manifest) {
        Set<Sha256> alone = new HashSet<>();
        String prefix = keys.loosePrefix();
        for (int listing = 0; listing < LISTINGS; listing++) {
            try {
                if (store.list(prefix, object -> UnpackedEntry.of(object, prefix).ifPresent(entry -> add(alone, entry.id()))) instanceof ListResult.Unavailable) {
                    return false;
                }
            } catch (StopListingException e) {
                return false;
            }
        }
        PackedIdFinder packed = new PackedIdFinder(manifest, keys, shelf, store);
        return alone.stream().allMatch(packed::contains);
    }

    private static void add(Set<Sha256> ids, Sha256 id) {
        if (ids.add(id) && ids.size() > CompactionPlanner.MAX_ALONE) {
            throw new StopListingException();
        }
    }
}
