package dev.granary.s3.pack;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.pack.manifest.PackManifestLog;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.Function;

/**
 * Looks up ids in the packs of one target. Thread-safe.
 *
 * <p>Manifest and indexes are read from the local disk if another process has stored them there. A
 * background thread compares the manifest with the bucket's, once per interval. A lookup waits for
 * the bucket if neither memory nor disk has a manifest. It also waits if the id is in no pack and
 * the manifest was confirmed more than {@value RefreshSchedule#MAX_AGE} intervals ago. Otherwise an
 * id in no pack costs no request, and one in a pack costs one: the range of its entry.
 *
 * <p>If a pack is missing or too short, the lookup reads the manifest again, once, and searches the
 * other packs; then it is a miss.
 */
public final class TargetPackReader {
    private static final int MAX_PASSES = 2;

    /** The number of further packs in which an entry that is damaged in one is searched. */
    private static final int MAX_COPIES = 3;

    private final TargetLayout keys;
    private final TargetUnsealer unsealer;
    private final TargetStateLoader loader;

    TargetPackReader(
            ObjectStore background,
            TargetLayout keys,
            PackIndexCache indexCache,
            RefreshSchedule schedule,
            Function<ObjectStore, PackManifestLog> logs,
            Executor executor) {
        this.keys = keys;
        this.unsealer = new TargetUnsealer(logs);
        this.loader = new TargetStateLoader(
                background, keys, indexCache, schedule, logs, unsealer, executor);
    }

    /**
     * Looks up an id.
     *
     * @param store sends the requests; its deadline bounds the call
     */
    PackAnswer load(Id id, ObjectStore store) {
        return load(
                id.hash(),
                stored -> EntryFormat.decode(stored, id, VerificationLevel.CONTENT_HASH),
                store);
    }

    /** Looks up the hash of an unknown id. */
    PackAnswer load(Sha256 hash, ObjectStore store) {
        return load(
                hash,
                stored -> keys.checkId(
                        EntryFormat.decode(stored, VerificationLevel.CONTENT_HASH), hash),
                store);
    }

    private PackAnswer load(
            Sha256 id, Function<MemorySegment, LoadResult> decoder, ObjectStore store) {
        Optional<PackAnswer> damaged = Optional.empty();
        int pass = 1;
        int copies = 0;
        while (true) {
            boolean isLast = pass == MAX_PASSES;
            long seen = loader.readCount();
            TargetPackState state = loader.state(store).orElse(null);
            if (state == null) {
                return new PackAnswer.Open(new LoadResult.Unavailable(
                        "another lookup is reading the manifest of packs, which takes too long"));
            }
            boolean isOld = loader.isOutOfDate(state);
            SearchResult found = find(state, id, store);
            switch (found) {
                // it may be in a pack published since
                case SearchResult.NotFound _
                when !isLast && isOld && loader.isReadWorthwhile() -> {}
                case SearchResult.NotFound _
                when !state.isKnown() || isOld -> {
                    return damaged.orElseGet(() -> new PackAnswer.Open(new LoadResult.Unavailable(
                            "the bucket has not reported its packs, or not recently: "
                                    + loader.failureCause())));
                }
                case SearchResult.NotFound _ -> {
                    return damaged.orElseGet(() ->
                            state.isSurelyAbsent(id) ? PackAnswer.ABSENT : PackAnswer.NOT_PACKED);
                }
                case SearchResult.PackLost _ -> {} // recorded: the next pass skips that pack
                case SearchResult.Unavailable unavailable -> {
                    return new PackAnswer.Final(
                            new LoadResult.Unavailable(unavailable.failure().toString()));
                }
                case SearchResult.InPack in -> {
                    Optional<PackAnswer> answer = read(state, in, decoder, store);
                    if (answer.isPresent() && answer.get() instanceof PackAnswer.Final) {
                        return answer.get();
                    }
                    if (answer.isPresent()) {
                        damaged = damaged.or(() -> answer);
                        if (copies++ < MAX_COPIES) {
                            // that pack is skipped from now on; another one may have the entry, too
                            continue;
                        }
                        return damaged.get();
                    }
                    if (isLast) {
                        continue; // the lost pack is skipped, too
                    }
                }
            }
            if (isLast) {
                return damaged.orElse(PackAnswer.NOT_PACKED);
            }
            loader.refreshAfterLoss(
                    store,
                    seen,
                    found instanceof SearchResult.NotFound
                            ? TargetStateLoader.LostPacks.FORGET
                            : TargetStateLoader.LostPacks.KEEP);
            pass++;
        }
    }

    /** Returns a mark for {@link #confirm}: later reads are newer. */
    long mark() {
        return loader.mark();
    }

    /** Confirms the known manifest, see {@link TargetStateLoader#confirm}. */
    boolean confirm(long mark, ObjectStore store) {
        return loader.confirm(mark, store);
    }

    /**
     * Returns true if an existing pack has an entry of that id; false also if the bucket does not
     * report it. An index alone may be that of a removed pack.
     */
    boolean holds(Id id, ObjectStore store) {
        TargetPackState state = loader.state(store).orElse(null);
        while (state != null && find(state, id.hash(), store) instanceof SearchResult.InPack in) {
            if (state.isWhole(in.pack())) {
                return true;
            }
            switch (PackPresence.of(in.pack(), keys, store)) {
                case THERE -> {
                    state.markWhole(in.pack());
                    return true;
                }
                case GONE -> state.markLost(in.pack()); // another pack may have the entry, too
                case UNKNOWN -> {
                    return false;
                }
            }
        }
        return false;
    }

    /** Makes lookups request unpacked entries, see {@link TargetUnsealer#unseal}. */
    TargetUnsealer.Unsealed unseal(ObjectStore store) {
        return unsealer.unseal(loader, store);
    }

    /** Returns true if the packs have an entry of that id, as far as is known without a request. */
    boolean isKnown(Id id) {
        TargetPackState state = loader.peek().orElse(null);
        return state != null
                && state.manifest().packs().stream()
                        .anyMatch(pack -> state.mayHave(pack, id.hash())
                                && state.index(pack)
                                        .flatMap(index -> index.find(id.hash()))
                                        .isPresent());
    }

    /** Returns true if a lookup found a pack missing since the manifest was read. */
    boolean hasLostPack() {
        return loader.peek().filter(TargetPackState::hasLostPack).isPresent();
    }

    /** The outcome of searching an id in the indexes. */
    private sealed interface SearchResult {
        /** An index has the id at that location of the pack. */
        record InPack(PackInfo pack, PackLocation location) implements SearchResult {}

        /** No readable pack has the id. */
        record NotFound() implements SearchResult {}

        /** No readable pack has it, and a pack that may have had it was just found missing. */
        record PackLost() implements SearchResult {}

        /** A pack that may have the id could not be read. */
        record Unavailable(StoreFailure failure) implements SearchResult {}
    }

    private SearchResult find(TargetPackState state, Sha256 id, ObjectStore store) {
        boolean isOneLost = false;
        for (PackInfo pack : state.manifest().packs()) {
            if (!state.mayHave(pack, id)) {
                continue;
            }
            switch (loader.index(state, pack, store)) {
                case PackIndexReader.IndexResult.Ok(PackIndex index) -> {
                    Optional<PackLocation> location = index.find(id);
                    if (location.isPresent()) {
                        return new SearchResult.InPack(pack, location.get());
                    }
                }
                case PackIndexReader.IndexResult.Lost _,
                        PackIndexReader.IndexResult.Forbidden _,
                        PackIndexReader.IndexResult.Newer _ -> {
                    state.markLost(pack);
                    isOneLost = true;
                }
                case PackIndexReader.IndexResult.Unavailable unavailable -> {
                    return new SearchResult.Unavailable(unavailable.failure());
                }
            }
        }
        return isOneLost ? new SearchResult.PackLost() : new SearchResult.NotFound();
    }

    /**
     * Reads the entry at a location; damage and a lost pack are recorded.
     *
     * @return final for a hit or a failure, open for damage, empty if the pack is lost
     */
    private Optional<PackAnswer> read(
            TargetPackState state,
            SearchResult.InPack in,
            Function<MemorySegment, LoadResult> decoder,
            ObjectStore store) {
        PackLocation location = in.location();
        return switch (store.range(
                keys.pack(in.pack().name()), location.offset(), location.length())) {
            case GetResult.Found found ->
                Optional.of(answer(state, in, decoder.apply(found.bytes())));
            case GetResult.Absent _ -> {
                state.markLost(in.pack());
                yield Optional.empty();
            }
            case GetResult.TooLarge _ -> {
                state.markDamaged(in.pack(), location.id());
                yield Optional.of(new PackAnswer.Open(new LoadResult.Damaged(
                        DamageKind.EXTENDED,
                        "the server sent more of pack " + in.pack().name()
                                + " than was requested")));
            }
            case GetResult.Unavailable unavailable
            when PackIndexReader.isGone(unavailable.failure(), in.pack(), keys, store) -> {
                state.markLost(in.pack());
                yield Optional.empty();
            }
            case GetResult.Unavailable unavailable ->
                Optional.of(new PackAnswer.Final(
                        new LoadResult.Unavailable(unavailable.failure().toString())));
        };
    }

    private static PackAnswer answer(
            TargetPackState state, SearchResult.InPack in, LoadResult decoded) {
        return switch (decoded) {
            case LoadResult.Hit _ -> new PackAnswer.Final(decoded);
            case LoadResult.Damaged bad -> {
                state.markDamaged(in.pack(), in.location().id());
                yield new PackAnswer.Open(new LoadResult.Damaged(
                        bad.damage(), "in pack " + in.pack().name() + ": " + bad.detail()));
            }
            case LoadResult.Absent _, LoadResult.Unavailable _ ->
                throw new IllegalStateException("Decoding ends in a hit or damage");
        };
    }
}
