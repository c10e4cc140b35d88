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
 * Compaction of one target: puts unpacked entries into packs, merges small packs, and removes
 * objects that no reader can be using any more.
 *
 * <p>It may be stopped at any moment, and any number may run at once. Packs are written first, one
 * commit of the manifest replaces the old ones, and only objects unused for the grace period are
 * removed. A compaction that is overtaken by another commit plans again. An unpacked entry is
 * removed only after its copy in a pack was read and found sound. If that copy is damaged, the
 * unpacked entry replaces it.
 */
public final class PackCompactor {
    /** The number of attempts to seal a target while other writers commit. */
    private static final int MAX_SEALINGS = 3;

    private static final int LISTINGS = 2;

    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackIndexCache indexCache;
    private final PackManifestLog log;
    private final PackWriter writer;
    private final BucketRemover remover;
    private final RandomGenerator random;

    public PackCompactor(
            ObjectStore store,
            TargetLayout keys,
            PackIndexCache indexCache,
            PackManifestLog log,
            PackWriter writer,
            RandomGenerator random) {
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
         * The plan was made.
         *
         * @param plan the plan
         */
        record Ready(CompactionPlan plan) implements Planned {}

        /**
         * The bucket cannot be read.
         *
         * @param cause the cause, for people
         */
        record Unavailable(String cause) implements Planned {}
    }

    /**
     * Entries that a compaction did not put into packs.
     *
     * @param damaged the number of damaged unpacked entries, each by two responses
     * @param damagedKeys the keys of the first {@value #MAX_NAMED} of those
     * @param unread the number that could not be read now
     * @param tooLarge the number that are too large for a pack
     * @param otherVersion the number of unpacked entries that another version of Granary wrote
     * @param gone the number that were listed and no longer exist
     * @param isTruncated true if there are more unpacked entries than one compaction takes; the
     *     next one continues
     */
    public record Left(
            long damaged,
            List<String> damagedKeys,
            long unread,
            long tooLarge,
            long otherVersion,
            long gone,
            boolean isTruncated) {
        /** The largest number of damaged entries that are named. */
        public static final int MAX_NAMED = 100;

        /** No entries. */
        static final Left NONE = new Left(0, List.of(), 0, 0, 0, 0, false);

        public Left {
            damagedKeys = List.copyOf(damagedKeys);
        }

        /** Returns the number of listed entries that stay where they are. */
        public long total() {
            return damaged + unread + tooLarge + otherVersion;
        }

        Left plusDamaged(String key) {
            List<String> keys = damaged < MAX_NAMED
                    ? Stream.concat(damagedKeys.stream(), Stream.of(key)).toList()
                    : damagedKeys;
            return new Left(damaged + 1, keys, unread, tooLarge, otherVersion, gone, isTruncated);
        }

        Left plusUnread(long more) {
            return new Left(
                    damaged, damagedKeys, unread + more, tooLarge, otherVersion, gone, isTruncated);
        }

        Left plusTooLarge(long more) {
            return new Left(
                    damaged, damagedKeys, unread, tooLarge + more, otherVersion, gone, isTruncated);
        }

        Left plusOtherVersion() {
            return new Left(
                    damaged, damagedKeys, unread, tooLarge, otherVersion + 1, gone, isTruncated);
        }

        Left plusGone() {
            return new Left(
                    damaged, damagedKeys, unread, tooLarge, otherVersion, gone + 1, isTruncated);
        }

        /** Returns these entries and those that the plan left out. */
        Left and(CompactionPlan.Unpacked planned) {
            return new Left(
                    damaged,
                    damagedKeys,
                    unread,
                    tooLarge + planned.tooLarge(),
                    otherVersion,
                    gone,
                    planned.isTruncated());
        }
    }

    /** The outcome of a compaction. */
    public sealed interface Result {
        /**
         * The compaction was carried out.
         *
         * @param packed the number of entries in new packs
         * @param written the number of packs that were written
         * @param removed the number of objects that were removed
         * @param unremoved the number of objects that should have been removed and could not be
         * @param left the entries that are in no new pack
         * @param dropped the number of damaged entries that were in packs and no longer are
         * @param unpackedEntries the state of unpacked entries in the manifest now
         */
        record Done(
                long packed,
                long written,
                long removed,
                long unremoved,
                Left left,
                long dropped,
                PackManifest.UnpackedEntries unpackedEntries)
                implements Result {}

        /** Another writer has replaced packs that were to be merged: plan again. */
        record Overtaken() implements Result {}

        /**
         * The compaction was not carried out, or its outcome is unknown; no entry is lost.
         *
         * @param cause the cause, for people
         */
        record Failed(String cause) implements Result {}
    }

    /**
     * Plans a compaction.
     *
     * @param grace the time for which unneeded objects stay, for readers with an older manifest;
     *     must be longer than a manifest interval and the longest read
     */
    public Planned plan(Duration grace) {
        return switch (log.confirmed()) {
            case PackManifestLog.Newest.Found found ->
                new CompactionPlanner(store, keys, indexCache, grace, found.manifest()).plan();
            case PackManifestLog.Newest.Unavailable unavailable ->
                new Planned.Unavailable(unavailable.cause());
        };
    }

    /**
     * Carries out a plan.
     *
     * @param unpackedEntries the state to commit afterwards if no unpacked entry is left
     * @param progress called with the number of bytes read so far
     */
    public Result run(
            CompactionPlan plan,
            PackManifest.UnpackedEntries unpackedEntries,
            LongConsumer progress) {
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
        boolean areSomeLeft = left.total() > 0 || left.isTruncated();
        Sealing sealing = !areSomeLeft && unpackedEntries == PackManifest.UnpackedEntries.NONE
                ? Sealing.WANTED
                : Sealing.UNWANTED;
        return commit(plan, merge, removable, sealing, rewriter);
    }

    /**
     * Verifies the packed copies of entries that are to be removed; returns the packs with unsound
     * copies.
     */
    private static Set<CompactionPlan.OldPack> check(
            List<CompactionPlan.Redundant> redundant,
            PackRewriter rewriter,
            List<BucketRemover.VerifiedCopy> removable) {
        Map<CompactionPlan.OldPack, Map<PackLocation, UnpackedEntry>> byPack =
                new LinkedHashMap<>();
        redundant.forEach(one -> byPack.computeIfAbsent(one.pack(), _ -> new LinkedHashMap<>())
                .put(one.location(), one.entry()));
        Set<CompactionPlan.OldPack> unsound = new LinkedHashSet<>();
        byPack.forEach((old, entries) -> rewriter.check(
                old.pack(),
                List.copyOf(entries.keySet()),
                location -> removable.add(new BucketRemover.VerifiedCopy(
                        Objects.requireNonNull(entries.get(location)), old.pack())),
                _ -> unsound.add(old)));
        return unsound;
    }

    /**
     * Moves entries into new packs. An entry that is unsound in one place is read from the others.
     */
    private static void repack(
            CompactionPlan.Unpacked unpacked,
            Set<CompactionPlan.OldPack> merge,
            PackRewriter rewriter)
            throws PackRewriter.PackWriteException {
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
        WANTED,
        UNWANTED;

        /**
         * Returns the state that the next manifest commits. A seal is retained if every entry that
         * packs had is still in packs; otherwise the intent is committed, and unpacked entries are
         * listed again.
         */
        PackManifest.UnpackedEntries nextState(PackManifest base, boolean areAllKept) {
            return this == UNWANTED
                    ? PackManifest.UnpackedEntries.POSSIBLE
                    : base.unpackedEntries() == PackManifest.UnpackedEntries.NONE && areAllKept
                            ? PackManifest.UnpackedEntries.NONE
                            : PackManifest.UnpackedEntries.SEALING;
        }
    }

    private Result commit(
            CompactionPlan plan,
            Set<CompactionPlan.OldPack> merge,
            List<BucketRemover.VerifiedCopy> removable,
            Sealing sealing,
            PackRewriter rewriter) {
        Set<Sha256> replaced = new HashSet<>(rewriter.moved());
        replaced.addAll(plan.lostNames());
        boolean areAllKept = plan.lostNames().isEmpty() && rewriter.missing().isEmpty();
        boolean isChanged = !replaced.isEmpty()
                || !rewriter.written().isEmpty()
                || plan.base().unpackedEntries() != sealing.nextState(plan.base(), areAllKept);
        String[] lost = {""};
        PackManifestLog.Committed committed = isChanged || !log.repairHint(plan.base())
                ? log.commit(base -> {
                    // after base was read: see BucketRemover
                    lost[0] = lost(rewriter.written(), pack -> writer.stateBeforeCommit(pack, keys))
                            .orElse("");
                    return lost[0].isEmpty()
                            ? next(
                                    base,
                                    replaced,
                                    rewriter.written(),
                                    sealing.nextState(base, areAllKept))
                            : Optional.empty();
                })
                : new PackManifestLog.Committed.Done(plan.base());
        return switch (committed) {
            case PackManifestLog.Committed.Done(PackManifest done) -> {
                Optional<String> since = lost(
                        rewriter.written(),
                        pack -> writer.stateAfterCommit(pack, keys, done.number()));
                yield since.isPresent()
                        ? undo(merge, rewriter, since.get())
                        : finish(
                                plan,
                                removable,
                                sealing == Sealing.WANTED
                                        ? sealed(done)
                                        : PackManifest.UnpackedEntries.POSSIBLE,
                                rewriter);
            }
            case PackManifestLog.Committed.Overtaken _ -> {
                remover.removeOwn(rewriter.written());
                yield lost[0].isEmpty() ? new Result.Overtaken() : new Result.Failed(lost[0]);
            }
            case PackManifestLog.Committed.Failed failed -> {
                remover.removeOwn(rewriter.written());
                yield new Result.Failed("the manifest could not be committed: " + failed.cause());
            }
            case PackManifestLog.Committed.Unknown unknown ->
                new Result.Failed("the outcome of the commit is unknown: " + unknown.cause());
        };
    }

    private static Optional<PackManifest> next(
            PackManifest base,
            Set<Sha256> replaced,
            List<PackInfo> with,
            PackManifest.UnpackedEntries unpackedEntries) {
        Set<Sha256> named = new HashSet<>();
        base.packs().forEach(pack -> named.add(pack.name()));
        return named.containsAll(replaced)
                ? Optional.of(base.replacing(replaced, with, unpackedEntries))
                : Optional.empty();
    }

    /**
     * Returns why the new packs cannot be relied on, or empty if they can. This process may have
     * been suspended, and another one may have taken them for orphans.
     */
    private static Optional<String> lost(
            List<PackInfo> written, Function<PackInfo, PackWriter.PackState> stateOf) {
        for (PackInfo pack : written) {
            switch (stateOf.apply(pack)) {
                case PackWriter.PackState.Lasting _ -> {}
                case PackWriter.PackState.Gone _ -> {
                    return Optional.of("a pack that was just written is gone");
                }
                case PackWriter.PackState.Late _ -> {
                    return Optional.of("a pack that was written is older than "
                            + BucketRemover.LONGEST_COMMIT.toHours() + " hours before its commit");
                }
                case PackWriter.PackState.Unknown unknown -> {
                    return Optional.of("the presence of a pack that was just written is unknown: "
                            + unknown.failure());
                }
            }
        }
        return Optional.empty();
    }

    /**
     * Repairs a commit whose packs cannot be relied on: the packs that they replaced are named
     * again, if they exist. No existing pack loses its name: another process may have removed the
     * replaced packs meanwhile.
     */
    private Result undo(Set<CompactionPlan.OldPack> merge, PackRewriter rewriter, String cause) {
        List<PackInfo> old = merge.stream()
                .map(CompactionPlan.OldPack::pack)
                .filter(pack -> rewriter.moved().contains(pack.name()))
                .toList();
        PackManifestLog.Committed undone = log.commit(base -> {
            Set<Sha256> gone = rewriter.written().stream()
                    .filter(pack -> base.names(pack.name()) && isGone(pack))
                    .map(PackInfo::name)
                    .collect(Collectors.toSet());
            List<PackInfo> back = old.stream()
                    .filter(pack -> !base.names(pack.name())
                            && TargetPackReader.presence(pack, keys, store)
                                    == TargetPackReader.Presence.THERE)
                    .toList();
            return gone.isEmpty() && back.isEmpty()
                    ? Optional.empty()
                    : Optional.of(base.restoring(gone, back));
        });
        return new Result.Failed(cause
                + switch (undone) {
                    case PackManifestLog.Committed.Done _ ->
                        "; the manifest names the replaced packs again that exist";
                    case PackManifestLog.Committed.Overtaken _ ->
                        "; no replaced pack exists to be named again";
                    case PackManifestLog.Committed.Failed failed ->
                        "; the manifest could not be repaired: " + failed.cause();
                    case PackManifestLog.Committed.Unknown unknown ->
                        "; the outcome of repairing the manifest is unknown: " + unknown.cause();
                });
    }

    private boolean isGone(PackInfo pack) {
        return TargetPackReader.presence(pack, keys, store) == TargetPackReader.Presence.GONE;
    }

    /**
     * Removes the planned objects; those that cannot be removed are left to the next compaction.
     */
    private Result.Done finish(
            CompactionPlan plan,
            List<BucketRemover.VerifiedCopy> removable,
            PackManifest.UnpackedEntries unpackedEntries,
            PackRewriter rewriter) {
        CompactionPlan.InPacks packs = plan.inPacks();
        long removed = remover.removeCopied(removable)
                + remover.removeUnused(packs.orphans(), packs.expired());
        return new Result.Done(
                rewriter.packed(),
                rewriter.written().size(),
                removed,
                removable.size() + packs.expired().size() + packs.orphans().size() - removed,
                rewriter.left().and(plan.unpacked()),
                rewriter.missing().size(),
                unpackedEntries);
    }

    /**
     * Commits that the target has no unpacked entries, if that holds.
     *
     * <p>The intent is committed before unpacked entries are listed. A process that stores an
     * unpacked entry too late for the listing finds the intent afterwards, or the seal, and commits
     * that unpacked entries are possible. The seal is committed only on top of the manifest under
     * which the listing was made, so that no such commit came between. If this process ends in
     * between, the intent stays, which costs the next process that stores an unpacked entry one
     * commit.
     *
     * @param committed the newest manifest, sealed or with the intent
     * @return the state in the newest manifest, as far as it is known
     */
    private PackManifest.UnpackedEntries sealed(PackManifest committed) {
        PackManifest newest = committed;
        for (int attempt = 0;
                attempt < MAX_SEALINGS
                        && newest.unpackedEntries() == PackManifest.UnpackedEntries.SEALING
                        && isEveryEntryPacked(newest);
                attempt++) {
            PackManifest intent = newest;
            if (log.commit(base -> base.isSameAs(intent)
                            ? Optional.of(intent.with(PackManifest.UnpackedEntries.NONE))
                            : Optional.empty())
                    instanceof PackManifestLog.Committed.Done) {
                return PackManifest.UnpackedEntries.NONE;
            }
            // packs or unpacked entries were published
            newest = log.confirmed() instanceof PackManifestLog.Newest.Found(PackManifest now)
                    ? now
                    : PackManifest.NONE;
        }
        if (newest.unpackedEntries() == PackManifest.UnpackedEntries.NONE
                && isEveryEntryPacked(newest)) {
            return PackManifest.UnpackedEntries.NONE;
        }
        log.commit(base -> base.unpackedEntries() == PackManifest.UnpackedEntries.POSSIBLE
                ? Optional.empty()
                : Optional.of(base.with(PackManifest.UnpackedEntries.POSSIBLE)));
        return PackManifest.UnpackedEntries.POSSIBLE;
    }

    /**
     * Returns true if every unpacked entry is in a pack, too, by two listings: a lagging one is
     * outweighed by the other.
     */
    private boolean isEveryEntryPacked(PackManifest manifest) {
        Set<Sha256> unpacked = new HashSet<>();
        String prefix = keys.unpackedPrefix();
        for (int listing = 0; listing < LISTINGS; listing++) {
            try {
                if (store.list(prefix, object -> UnpackedEntry.of(object, prefix)
                                .ifPresent(entry -> add(unpacked, entry.id())))
                        instanceof ListResult.Unavailable) {
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
