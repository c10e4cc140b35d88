package dev.granary.s3.pack.compact;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.BucketRemover;
import dev.granary.s3.pack.PackPresence;
import dev.granary.s3.pack.PackWriter;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.ManifestPlan;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.pack.manifest.PackManifestLog;
import dev.granary.s3.pack.manifest.PackManifestLog.Committed;
import dev.granary.s3.store.ObjectStore;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Committer of a compaction: names the new packs instead of the old ones, and names the old ones
 * again if the new ones cannot be relied on. For one thread.
 */
final class CompactionCommitter {
    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackManifestLog log;
    private final PackWriter writer;
    private final BucketRemover remover;

    CompactionCommitter(
            ObjectStore store,
            TargetLayout keys,
            PackManifestLog log,
            PackWriter writer,
            BucketRemover remover) {
        this.store = store;
        this.keys = keys;
        this.log = log;
        this.writer = writer;
        this.remover = remover;
    }

    /** Whether the target is to be sealed. */
    enum Sealing {
        WANTED,
        /** A seal stays, and none is made. */
        RETAINED,
        UNWANTED;

        /**
         * Returns the state that the next manifest commits. A seal is retained if every entry that
         * packs had is still in packs. Otherwise unpacked entries are possible again, and
         * {@link #WANTED} states the intent to list them and to seal.
         */
        PackManifest.UnpackedEntries nextState(PackManifest base, boolean areAllKept) {
            boolean isSealed =
                    base.unpackedEntries() == PackManifest.UnpackedEntries.NONE && areAllKept;
            return switch (this) {
                case UNWANTED -> PackManifest.UnpackedEntries.POSSIBLE;
                case RETAINED ->
                    isSealed
                            ? PackManifest.UnpackedEntries.NONE
                            : PackManifest.UnpackedEntries.POSSIBLE;
                case WANTED ->
                    isSealed
                            ? PackManifest.UnpackedEntries.NONE
                            : PackManifest.UnpackedEntries.SEALING;
            };
        }
    }

    /** The outcome of a commit. */
    sealed interface Outcome {
        /** The manifest names the new packs, which can be relied on. */
        record Done(PackManifest manifest) implements Outcome {}

        /** Another writer has replaced packs that were to be merged. */
        record Overtaken() implements Outcome {}

        /** The new packs are not committed, cannot be relied on, or their state is unknown. */
        record Failed(String cause) implements Outcome {}
    }

    /** Commits a manifest with the new packs of {@code rewriter} instead of the moved ones. */
    Outcome commit(
            CompactionPlan plan,
            Set<CompactionPlan.OldPack> merge,
            Sealing sealing,
            PackRewriter rewriter) {
        Set<Sha256> replaced = new HashSet<>(rewriter.moved());
        replaced.addAll(plan.lostNames());
        boolean areAllKept = plan.lostNames().isEmpty() && rewriter.missing().isEmpty();
        boolean isChanged = !replaced.isEmpty()
                || !rewriter.written().isEmpty()
                || plan.base().unpackedEntries() != sealing.nextState(plan.base(), areAllKept);
        Committed<Optional<String>> committed = isChanged || !log.repairHint(plan.base())
                ? log.commit(base -> plan(
                        base, replaced, rewriter.written(), sealing.nextState(base, areAllKept)))
                : new Committed.Done<>(plan.base(), Optional.empty());
        return switch (committed) {
            case Committed.Done<Optional<String>> done -> {
                long number = done.manifest().number();
                Optional<String> flaw = flaw(
                        rewriter.written(), pack -> writer.stateAfterCommit(pack, keys, number));
                yield flaw.isPresent()
                        ? undo(merge, rewriter, flaw.get())
                        : new Outcome.Done(done.manifest());
            }
            case Committed.Overtaken<Optional<String>> overtaken -> {
                remover.removeOwn(rewriter.written());
                yield overtaken
                        .finding()
                        .<Outcome>map(Outcome.Failed::new)
                        .orElseGet(Outcome.Overtaken::new);
            }
            case Committed.Failed<?>(String cause) -> {
                remover.removeOwn(rewriter.written());
                yield new Outcome.Failed("the manifest could not be committed: " + cause);
            }
            case Committed.Unknown<?>(String cause) ->
                new Outcome.Failed("the outcome of the commit is unknown: " + cause);
        };
    }

    /** Returns the plan; its finding is the {@linkplain #flaw flaw} of the new packs. */
    private ManifestPlan<Optional<String>> plan(
            PackManifest base,
            Set<Sha256> replaced,
            List<PackInfo> with,
            PackManifest.UnpackedEntries unpackedEntries) {
        // after base was read: see BucketRemover
        Optional<String> flaw = flaw(with, pack -> writer.stateBeforeCommit(pack, keys));
        Set<Sha256> named = new HashSet<>();
        base.packs().forEach(pack -> named.add(pack.name()));
        return flaw.isEmpty() && named.containsAll(replaced)
                ? new ManifestPlan.Commit<>(base.replacing(replaced, with, unpackedEntries), flaw)
                : new ManifestPlan.Nothing<>(flaw);
    }

    /**
     * Returns the reason for which the new packs cannot be relied on, or empty if they can. This
     * process may have been suspended, and another one may have taken them for orphans.
     */
    private static Optional<String> flaw(
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
    private Outcome undo(Set<CompactionPlan.OldPack> merge, PackRewriter rewriter, String cause) {
        List<PackInfo> old = merge.stream()
                .map(CompactionPlan.OldPack::pack)
                .filter(pack -> rewriter.moved().contains(pack.name()))
                .toList();
        Committed<?> undone = log.commit(base -> {
            Set<Sha256> gone = rewriter.written().stream()
                    .filter(pack -> base.names(pack.name()) && isGone(pack))
                    .map(PackInfo::name)
                    .collect(Collectors.toSet());
            List<PackInfo> back = old.stream()
                    .filter(pack -> !base.names(pack.name())
                            && PackPresence.of(pack, keys, store) == PackPresence.THERE)
                    .toList();
            return gone.isEmpty() && back.isEmpty()
                    ? ManifestPlan.nothing()
                    : ManifestPlan.commit(base.restoring(gone, back));
        });
        return new Outcome.Failed(cause
                + switch (undone) {
                    case Committed.Done<?> _ ->
                        "; the manifest names the replaced packs again that exist";
                    case Committed.Overtaken<?> _ -> "; no replaced pack exists to be named again";
                    case Committed.Failed<?>(String failure) ->
                        "; the manifest could not be repaired: " + failure;
                    case Committed.Unknown<?>(String failure) ->
                        "; the outcome of repairing the manifest is unknown: " + failure;
                });
    }

    private boolean isGone(PackInfo pack) {
        return PackPresence.of(pack, keys, store) == PackPresence.GONE;
    }
}
