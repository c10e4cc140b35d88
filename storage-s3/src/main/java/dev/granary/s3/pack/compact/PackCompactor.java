package dev.granary.s3.pack.compact;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.BucketRemover;
import dev.granary.s3.pack.PackIndexCache;
import dev.granary.s3.pack.PackWriter;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.pack.format.UnpackedEntry;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.pack.manifest.PackManifestLog;
import dev.granary.s3.store.ObjectStore;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.LongConsumer;
import java.util.random.RandomGenerator;

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
    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackIndexCache indexCache;
    private final PackManifestLog log;
    private final PackWriter writer;
    private final BucketRemover remover;
    private final CompactionCommitter committer;
    private final TargetSealer sealer;
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
        this.committer = new CompactionCommitter(store, keys, log, writer, remover);
        this.sealer = new TargetSealer(store, keys, indexCache, log);
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
                LeftEntries left,
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
        LeftEntries left = rewriter.left().and(plan.unpacked());
        boolean areSomeLeft = left.total() > 0 || left.isTruncated();
        boolean isToBeSealed = !areSomeLeft && unpackedEntries == PackManifest.UnpackedEntries.NONE;
        CompactionCommitter.Sealing sealing = isToBeSealed
                ? CompactionCommitter.Sealing.WANTED
                : CompactionCommitter.Sealing.UNWANTED;
        return switch (committer.commit(plan, merge, sealing, rewriter)) {
            case CompactionCommitter.Outcome.Done(PackManifest done) ->
                finish(
                        plan,
                        removable,
                        isToBeSealed ? sealer.seal(done) : PackManifest.UnpackedEntries.POSSIBLE,
                        rewriter);
            case CompactionCommitter.Outcome.Overtaken _ -> new Result.Overtaken();
            case CompactionCommitter.Outcome.Failed(String cause) -> new Result.Failed(cause);
        };
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
}
