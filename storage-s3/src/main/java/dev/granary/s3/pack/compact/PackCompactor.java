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
    private final PackIndexCache indexCache;
    private final PackManifestLog log;
    private final PackWriter writer;
    private final BucketRemover remover;
    private final RandomGenerator random;

    public PackCompactor(ObjectStore store, TargetLayout keys, PackIndexCache indexCache, PackManifestLog log, PackWriter writer, RandomGenerator random) {
        this.store = store;
        this.keys = keys;
        this.indexCache = indexCache;
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
     * @param isTruncated true if more entries lie alone than one compaction takes: the next one goes on
     */
    public record Left(long damaged, List<String> damagedKeys, long unread, long tooLarge, long otherVersion, long gone, boolean isTruncated) {
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
            return new Left(damaged + 1, keys, unread, tooLarge, otherVersion, gone, isTruncated);
        }

        Left plusUnread(long more) {
            return new Left(damaged, damagedKeys, unread + more, tooLarge, otherVersion, gone, isTruncated);
        }

        Left plusTooLarge(long more) {
            return new Left(damaged, damagedKeys, unread, tooLarge + more, otherVersion, gone, isTruncated);
        }

        Left plusOtherVersion() {
            return new Left(damaged, damagedKeys, unread, tooLarge, otherVersion + 1, gone, isTruncated);
        }

        Left plusGone() {
            return new Left(damaged, damagedKeys, unread, tooLarge, otherVersion, gone + 1, isTruncated);
        }

        /** With what the plan left out. */
        Left and(CompactionPlan.Unpacked planned) {
            return new Left(damaged, damagedKeys, unread, tooLarge + planned.tooLarge(), otherVersion, gone, planned.isTruncated());
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
         * @param unpackedEntries what the manifest says now of entries outside of packs
         */
        record Done(long packed, long written, long removed, long unremoved, Left left, long dropped, PackManifest.UnpackedEntries unpackedEntries) implements Result {}

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
            case PackManifestLog.Newest.Found found -> new CompactionPlanner(store, keys, indexCache, grace, found.manifest()).plan();
            case PackManifestLog.Newest.Unavailable unavailable -> new Planned.Unavailable(unavailable.cause());
        };
    }

    /**
     * Does what was planned.
     *
     * @param unpackedEntries what the manifest says of entries outside of packs afterwards, if none was left there
     * @param progress told how many bytes were read so far
     */
    public Result run(CompactionPlan plan, PackManifest.UnpackedEntries unpackedEntries, LongConsumer progress) {
        PackRewriter rewriter = new PackRewriter(store, keys, writer, random, progress);
        List<BucketRemover.VerifiedCopy> removable = new ArrayList<>();
        Set<CompactionPlan.OldPack> merge = new LinkedHashSet<>(plan.inPacks().merge());
        try {
            merge.addAll(check(plan.unpacked().redundant(), rewriter, removable));
            repack(plan.unpacked(), merge, rewriter);
        } catch (PackRewriter.PackWriteException e) {
            remover.removeOwn(rewriter.written());
            return new Result.Failed("a pack could not be written: " + e.failure());
        }
        Left left = rewriter.left().and(plan.unpacked());
        boolean mayBeUnpacked = left.total() > 0 || left.isTruncated();
        return commit(plan, merge, removable, mayBeUnpacked ? Sealing.UNWANTED : unpackedEntries == PackManifest.UnpackedEntries.NONE ? Sealing.WANTED : Sealing.UNWANTED,
                rewriter);
    }

    /** Reads what packs have of entries that are to be removed outside; returns the packs where something is not sound. */
    private static Set<CompactionPlan.OldPack> check(List<CompactionPlan.Redundant> redundant, PackRewriter rewriter,
            List<BucketRemover.VerifiedCopy> removable) {
        Map<CompactionPlan.OldPack, Map<PackLocation, UnpackedEntry>> byPack = new LinkedHashMap<>();
        redundant.forEach(one -> byPack.computeIfAbsent(one.pack(), _ -> new LinkedHashMap<>()).put(one.location(), one.entry()));
        Set<CompactionPlan.OldPack> unsound = new LinkedHashSet<>();
        byPack.forEach((old, entries) -> rewriter.check(old.pack(), List.copyOf(entries.keySet()),
                location -> removable.add(new BucketRemover.VerifiedCopy(Objects.requireNonNull(entries.get(location)), old.pack())), _ -> unsound.add(old)));
        return unsound;
    }

    /** What is not sound in one place is looked for in the others. */
    private static void repack(CompactionPlan.Unpacked unpacked, Set<CompactionPlan.OldPack> merge, PackRewriter rewriter) throws PackRewriter.PackWriteException {
        for (CompactionPlan.OldPack old : merge) {
            rewriter.moveLive(old);
        }
        for (CompactionPlan.OldPack old : merge) {
            rewriter.moveDuplicates(old);
        }
        for (Sha256 id : List.copyOf(rewriter.missing())) {
            if (unpacked.packed().containsKey(id)) {
                rewriter.addUnpacked(unpacked.packed().get(id));
            }
        }
        for (UnpackedEntry entry : unpacked.toPack()) {
            rewriter.addUnpacked(entry);
        }
        rewriter.finish();
    }

    /** Whether the target is to be sealed. */
    private enum Sealing {
        WANTED, UNWANTED;

        /**
         * What the next manifest says. A seal stays as it is if every entry that packs had is in packs still; else the manifest tells of the intent, and
         * what lies alone is listed again.
         */
        PackManifest.UnpackedEntries over(PackManifest base, boolean areAllKept) {
            return this == UNWANTED ? PackManifest.UnpackedEntries.POSSIBLE
                    : base.unpackedEntries() == PackManifest.UnpackedEntries.NONE && areAllKept ? PackManifest.UnpackedEntries.NONE : PackManifest.UnpackedEntries.SEALING;
        }
    }

    private Result commit(CompactionPlan plan, Set<CompactionPlan.OldPack> merge, List<BucketRemover.VerifiedCopy> removable, Sealing sealing,
            PackRewriter rewriter) {
        Optional<String> lost = lost(rewriter.written(), pack -> writer.stateBeforeCommit(pack, keys));
        if (lost.isPresent()) {
            remover.removeOwn(rewriter.written());
            return new Result.Failed(lost.get());
        }
        Set<Sha256> replaced = new HashSet<>(rewriter.moved());
        replaced.addAll(plan.lostNames());
        boolean areAllKept = plan.lostNames().isEmpty() && rewriter.missing().isEmpty();
        boolean isChanged = !replaced.isEmpty() || !rewriter.written().isEmpty()
                || plan.base().unpackedEntries() != sealing.over(plan.base(), areAllKept);
        PackManifestLog.Committed committed = isChanged || !log.repairHint(plan.base())
                ? log.commit(base -> next(base, replaced, rewriter.written(), sealing.over(base, areAllKept)))
                : new PackManifestLog.Committed.Done(plan.base());
        return switch (committed) {
            case PackManifestLog.Committed.Done(PackManifest done) -> {
                Optional<String> since = lost(rewriter.written(), pack -> writer.stateAfterCommit(pack, keys, done.number()));
                yield since.isPresent()
                        ? undo(merge, rewriter, since.get())
                        : finish(plan, removable, sealing == Sealing.WANTED ? sealed(done) : PackManifest.UnpackedEntries.POSSIBLE, rewriter);
            }
            case PackManifestLog.Committed.Overtaken _ -> {
                remover.removeOwn(rewriter.written());
                yield new Result.Overtaken();
            }
            case PackManifestLog.Committed.Failed failed -> {
                remover.removeOwn(rewriter.written());
                yield new Result.Failed("the manifest could not be committed: " + failed.cause());
            }
            case PackManifestLog.Committed.Unknown unknown ->
                new Result.Failed("whether the manifest is committed nobody can say: " + unknown.cause());
        };
    }

    private static Optional<PackManifest> next(PackManifest base, Set<Sha256> replaced, List<PackInfo> with, PackManifest.UnpackedEntries unpackedEntries) {
        Set<Sha256> named = new HashSet<>();
        base.packs().forEach(pack -> named.add(pack.name()));
        return named.containsAll(replaced) ? Optional.of(base.replacing(replaced, with, unpackedEntries)) : Optional.empty();
    }

    /** Why the new packs cannot be relied on, if they cannot: this process may have stood still, and another one have taken them for orphans. */
    private static Optional<String> lost(List<PackInfo> written, Function<PackInfo, PackWriter.PackState> asked) {
        for (PackInfo pack : written) {
            switch (asked.apply(pack)) {
                case PackWriter.PackState.Lasting _ -> {}
                case PackWriter.PackState.Gone _ -> {
                    return Optional.of("a pack that was just written is gone");
                }
                case PackWriter.PackState.Late _ -> {
                    return Optional.of("a pack that was written is older than " + BucketRemover.LONGEST_COMMIT.toHours() + " hours before its commit");
                }
                case PackWriter.PackState.Unknown unknown -> {
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
    private Result undo(Set<CompactionPlan.OldPack> merge, PackRewriter rewriter, String cause) {
        List<PackInfo> old = merge.stream().map(CompactionPlan.OldPack::pack).filter(pack -> rewriter.moved().contains(pack.name())).toList();
        PackManifestLog.Committed undone = log.commit(base -> {
            Set<Sha256> gone = rewriter.written().stream().filter(pack -> base.names(pack.name()) && isGone(pack)).map(PackInfo::name)
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
    private Result.Done finish(CompactionPlan plan, List<BucketRemover.VerifiedCopy> removable, PackManifest.UnpackedEntries unpackedEntries, PackRewriter rewriter) {
        CompactionPlan.InPacks packs = plan.inPacks();
        long removed = remover.removeCopied(removable) + remover.removeOrphans(packs.orphans());
        Set<PackManifest.Retired> gone = remover.removeRetired(packs.expired());
        if (!gone.isEmpty()) {
            log.commit(base -> Optional.of(base.withoutRetired(gone)));
        }
        removed += gone.size();
        return new Result.Done(rewriter.packed(), rewriter.written().size(), removed,
                removable.size() + packs.expired().size() + packs.orphans().size() - removed,
                rewriter.left().and(plan.unpacked()), rewriter.missing().size(), unpackedEntries);
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
    private PackManifest.UnpackedEntries sealed(PackManifest committed) {
        PackManifest newest = committed;
        for (int attempt = 0; attempt < MAX_SEALINGS && newest.unpackedEntries() == PackManifest.UnpackedEntries.SEALING && isEveryEntryPacked(newest); attempt++) {
            PackManifest intent = newest;
            if (log.commit(base -> base.isSameAs(intent) ? Optional.of(intent.with(PackManifest.UnpackedEntries.NONE)) : Optional.empty())
                    instanceof PackManifestLog.Committed.Done) {
                return PackManifest.UnpackedEntries.NONE;
            }
            newest = log.confirmed() instanceof PackManifestLog.Newest.Found(PackManifest now) ? now : PackManifest.NONE; // packs were published, or entries alone
        }
        if (newest.unpackedEntries() == PackManifest.UnpackedEntries.NONE && isEveryEntryPacked(newest)) {
            return PackManifest.UnpackedEntries.NONE;
        }
        log.commit(base -> base.unpackedEntries() == PackManifest.UnpackedEntries.POSSIBLE ? Optional.empty() : Optional.of(base.with(PackManifest.UnpackedEntries.POSSIBLE)));
        return PackManifest.UnpackedEntries.POSSIBLE;
    }

    /** True if every entry that lies alone is in a pack, too, by two listings: one that lags behind is outweighed by one that does not. */
    private boolean isEveryEntryPacked(PackManifest manifest) {
        Set<Sha256> unpacked = new HashSet<>();
        String prefix = keys.unpackedPrefix();
        for (int listing = 0; listing < LISTINGS; listing++) {
            try {
                if (store.list(prefix, object -> UnpackedEntry.of(object, prefix).ifPresent(entry -> add(unpacked, entry.id()))) instanceof ListResult.Unavailable) {
                    return false;
                }
            } catch (StopListingException e) {
                return false;
            }
        }
        PackedIdFinder packed = new PackedIdFinder(manifest, keys, indexCache, store);
        return unpacked.stream().allMatch(packed::contains);
    }

    private static void add(Set<Sha256> ids, Sha256 id) {
        if (ids.add(id) && ids.size() > CompactionPlanner.MAX_UNPACKED) {
            throw new StopListingException();
        }
    }
}
