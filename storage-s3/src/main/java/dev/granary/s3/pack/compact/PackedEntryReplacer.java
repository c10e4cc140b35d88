package dev.granary.s3.pack.compact;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
import dev.granary.cache.format.WriteAttemptId;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.BucketRemover;
import dev.granary.s3.pack.PackIndexCache;
import dev.granary.s3.pack.PackIndexReader;
import dev.granary.s3.pack.PackWriter;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.pack.manifest.PackManifestLog;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * Replacer of one entry in the packs of a target: the pack from which readers take it is written
 * anew with the other entry in its place, and replaces the old pack in the manifest as in a
 * compaction. All other sound entries of the pack stay. Nothing is removed: the old pack is
 * retired, and the next compaction removes it after the grace period. Thread-safe.
 *
 * <p>Memory holds a pack under construction and a range that is being read.
 */
public final class PackedEntryReplacer {
    private static final int MAX_ATTEMPTS = 3;

    private final ObjectStore store;
    private final TargetLayout keys;
    private final PackManifestLog log;
    private final PackWriter writer;
    private final BucketRemover remover;
    private final CompactionCommitter committer;
    private final RandomGenerator random;

    public PackedEntryReplacer(
            ObjectStore store,
            TargetLayout keys,
            PackManifestLog log,
            PackWriter writer,
            RandomGenerator random) {
        this.store = store;
        this.keys = keys;
        this.log = log;
        this.writer = writer;
        this.remover = new BucketRemover(store, keys, log);
        this.committer = new CompactionCommitter(store, keys, log, writer, remover);
        this.random = random;
    }

    /** The outcome of a replacement. */
    public sealed interface Result {
        /** New readers find the new entry, which has that many bytes. */
        record Replaced(long bytes) implements Result {}

        /** No pack has an entry of that id. */
        record NotPacked() implements Result {}

        /** Readers take another content from the packs already; it stays. */
        record OtherContent() implements Result {}

        /** The entry can never be in a pack. */
        record Refused(String reason) implements Result {}

        /** Nothing was replaced, or that is unknown; no entry is lost. */
        record Failed(String cause) implements Result {}
    }

    /** The place of the entry in the packs. */
    private sealed interface Found {
        record In(PackInfo pack, PackIndex index) implements Found {}

        record None() implements Found {}

        record Other() implements Found {}

        record Unknown(String cause) implements Found {}
    }

    /**
     * Replaces the entry with this content by {@code fresh}, an entry of the same id. A commit of
     * another writer in between is taken into account, at most twice.
     */
    public Result replace(Entry fresh, Sha256 content) {
        byte[] encoded;
        try {
            encoded = EntryFormat.encode(fresh, Compression.ZSTD, WriteAttemptId.NONE);
        } catch (IllegalArgumentException e) {
            return new Result.Refused(String.valueOf(e.getMessage()));
        }
        for (int attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
            PackManifest base;
            switch (log.confirmed()) {
                case PackManifestLog.Newest.Found(PackManifest newest) -> base = newest;
                case PackManifestLog.Newest.Unavailable(String cause) -> {
                    return new Result.Failed("the manifest of packs cannot be read: " + cause);
                }
            }
            switch (find(base, fresh.id().hash(), content)) {
                case Found.None _ -> {
                    return new Result.NotPacked();
                }
                case Found.Other _ -> {
                    return new Result.OtherContent();
                }
                case Found.Unknown(String cause) -> {
                    return new Result.Failed(cause);
                }
                case Found.In in -> {
                    if (!PackBuilder.fits(encoded.length)) {
                        return new Result.Refused("the entry is too large for a pack, and a pack"
                                + " has the one that it replaces");
                    }
                    Optional<Result> result = rewrite(base, in, fresh, encoded);
                    if (result.isPresent()) {
                        return result.get();
                    }
                }
            }
        }
        return new Result.Failed("overtaken by other commits " + MAX_ATTEMPTS + " times");
    }

    /** Finds the entry as a reader without any cache does. */
    private Found find(PackManifest manifest, Sha256 id, Sha256 content) {
        for (PackInfo pack : manifest.packs()) {
            if (!pack.filter().mayContain(id)) {
                continue;
            }
            switch (PackIndexReader.read(pack, keys, PackIndexCache.NONE, store)) {
                case PackIndexReader.IndexResult.Ok(PackIndex index) -> {
                    Optional<Found> found =
                            index.find(id).flatMap(at -> read(pack, index, at, content));
                    if (found.isPresent()) {
                        return found.get();
                    }
                }
                // readers skip it as well
                case PackIndexReader.IndexResult.Lost _, PackIndexReader.IndexResult.Newer _ -> {}
                case PackIndexReader.IndexResult.Forbidden forbidden -> {
                    return new Found.Unknown("a pack cannot be read: " + forbidden.cause());
                }
                case PackIndexReader.IndexResult.Unavailable unavailable -> {
                    return new Found.Unknown("a pack cannot be read: " + unavailable.failure());
                }
            }
        }
        return new Found.None();
    }

    /** Returns empty if readers go on to the next pack. */
    private Optional<Found> read(
            PackInfo pack, PackIndex index, PackLocation location, Sha256 content) {
        return switch (store.range(keys.pack(pack.name()), location.offset(), location.length())) {
            case GetResult.Found found
            when keys.checkId(
                            EntryFormat.decode(found.bytes(), VerificationLevel.CONTENT_HASH),
                            location.id())
                    instanceof LoadResult.Hit(Entry entry) ->
                Optional.of(
                        entry.contentHash().equals(content)
                                ? new Found.In(pack, index)
                                : new Found.Other());
            case GetResult.Found _, GetResult.Absent _, GetResult.TooLarge _ -> Optional.empty();
            case GetResult.Unavailable unavailable ->
                Optional.of(new Found.Unknown("a pack cannot be read: " + unavailable.failure()));
        };
    }

    /** Returns empty if another writer was faster. */
    private Optional<Result> rewrite(PackManifest base, Found.In in, Entry fresh, byte[] encoded) {
        Sha256 id = fresh.id().hash();
        List<PackLocation> others = in.index().locations().stream()
                .filter(location -> !location.id().equals(id))
                .toList();
        CompactionPlan.OldPack old = new CompactionPlan.OldPack(in.pack(), others, List.of());
        PackRewriter rewriter = new PackRewriter(store, keys, writer, random, _ -> {});
        try {
            rewriter.moveLive(old);
            if (!rewriter.moved().contains(in.pack().name())) {
                return Optional.of(
                        new Result.Failed("the other entries of the pack cannot be read now"));
            }
            rewriter.addNew(fresh, encoded);
            rewriter.finish();
        } catch (PackRewriter.PackWriteException e) {
            remover.removeOwn(rewriter.written());
            return Optional.of(new Result.Failed("a pack could not be written: " + e.failure()));
        }
        CompactionPlan plan = new CompactionPlan(
                base,
                new CompactionPlan.InPacks(List.of(old), List.of(), List.of(), List.of()),
                new CompactionPlan.Unpacked(List.of(), List.of(), Map.of(), 0, false),
                0);
        return switch (committer.commit(
                plan, Set.of(old), CompactionCommitter.Sealing.RETAINED, rewriter)) {
            case CompactionCommitter.Outcome.Done _ ->
                Optional.of(new Result.Replaced(encoded.length));
            case CompactionCommitter.Outcome.Overtaken _ -> Optional.empty();
            case CompactionCommitter.Outcome.Failed(String cause) ->
                Optional.of(new Result.Failed(cause));
        };
    }
}
