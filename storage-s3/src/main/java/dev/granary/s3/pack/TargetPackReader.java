package dev.granary.s3.pack;

import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.PackIndexReader.IndexResult;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.PackLocation;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Looks up ids of one target: in its packs, then as unpacked entries. Thread-safe.
 *
 * <p>An entry in a pack costs one request, as does one that is nowhere. A copy that is gone or
 * unsound ends nothing: the lookup goes on with the next pack that may have the id, then with the
 * unpacked entry. Then it reads the head again, once, if it was too old or named a lost pack. An id
 * that a damaged index or base may have is damaged, not absent.
 */
final class TargetPackReader {
    private final TargetLayout keys;
    private final TargetPacks packs;

    TargetPackReader(TargetLayout keys, TargetPacks packs) {
        this.keys = keys;
        this.packs = packs;
    }

    /**
     * Looks up an id.
     *
     * @param decoder decodes and verifies an entry
     * @param store sends the requests; its deadline bounds the call
     * @param unpacked reads the unpacked entry
     */
    LoadResult load(
            Sha256 id,
            Function<MemorySegment, LoadResult> decoder,
            ObjectStore store,
            Supplier<LoadResult> unpacked) {
        PackView view = packs.view(store);
        Search first = search(view, id, decoder, store);
        if (first.result() instanceof LoadResult.Hit) {
            return first.result();
        }
        LoadResult single = unpacked.get();
        if (single instanceof LoadResult.Hit) {
            return single;
        }
        Search last = first;
        if (first.hasNewLoss() || packs.isRefreshDue(view)) {
            PackView newer = packs.refreshed(store, view);
            if (!newer.hasHeadOf(view) || !first.hasNewLoss()) {
                last = search(newer, id, decoder, store); // also packs that were lost before
            } else {
                newer.addLossesOf(view);
            }
            view = newer;
        }
        if (last.result() instanceof LoadResult.Hit) {
            return last.result();
        }
        if (single instanceof LoadResult.Unavailable) {
            return single; // may have the entry
        }
        if (single instanceof LoadResult.Damaged && view.isKnown()) {
            return single;
        }
        return last.result() instanceof LoadResult.Absent && packs.isOutOfDate(view)
                ? new LoadResult.Unavailable("the bucket has not reported its packs recently")
                : last.result();
    }

    /**
     * The outcome of searching the packs of one view.
     *
     * @param result a hit, else the worst of what the packs answered
     * @param hasNewLoss true if a pack that may have the id, or its copy there, was just found lost
     *     or unsound: a newer head may name another
     */
    private record Search(LoadResult result, boolean hasNewLoss) {}

    private Search search(
            PackView view,
            Sha256 id,
            Function<MemorySegment, LoadResult> decoder,
            ObjectStore store) {
        LoadResult worst = view.otherwise();
        boolean hasNewLoss = false;
        for (PackInfo pack : view.packs()) {
            if (!pack.mayContain(id)) {
                continue;
            }
            boolean wasLost = view.isLost(pack);
            LoadResult read =
                    switch (packs.index(view, pack, store)) {
                        case IndexResult.Ok ok -> {
                            Optional<PackLocation> location = ok.index().find(id);
                            yield location.isEmpty()
                                    ? LoadResult.ABSENT
                                    : read(view, pack, location.get(), decoder, store);
                        }
                        case IndexResult.Lost(boolean isThere, String cause) ->
                            isThere
                                    ? new LoadResult.Damaged(
                                            DamageKind.CORRUPT,
                                            "pack " + pack.name() + ": " + cause)
                                    : LoadResult.ABSENT;
                        case IndexResult.Unavailable(String cause) ->
                            new LoadResult.Unavailable(cause);
                    };
            hasNewLoss |= !wasLost && (read instanceof LoadResult.Damaged || view.isLost(pack));
            if (read instanceof LoadResult.Hit) {
                return new Search(read, hasNewLoss);
            }
            if (worst instanceof LoadResult.Absent || read instanceof LoadResult.Damaged) {
                worst = read;
            }
        }
        return new Search(worst, hasNewLoss);
    }

    private LoadResult read(
            PackView view,
            PackInfo pack,
            PackLocation location,
            Function<MemorySegment, LoadResult> decoder,
            ObjectStore store) {
        return switch (store.range(keys.pack(pack.name()), location.offset(), location.length())) {
            case GetResult.Found found -> {
                LoadResult decoded = decoder.apply(found.bytes());
                yield decoded instanceof LoadResult.Damaged bad
                        ? new LoadResult.Damaged(
                                bad.damage(), "in pack " + pack.name() + ": " + bad.detail())
                        : decoded;
            }
            case GetResult.Absent _ -> {
                view.add(pack, new IndexResult.Lost(false, "it is not there"));
                yield LoadResult.ABSENT;
            }
            case GetResult.TooLarge _ ->
                new LoadResult.Damaged(
                        DamageKind.EXTENDED,
                        "the server sent more of pack " + pack.name() + " than was requested");
            case GetResult.Unavailable(StoreFailure failure)
            when failure.status() == PackIndexReader.NOT_SATISFIABLE ->
                new LoadResult.Damaged(
                        DamageKind.TRUNCATED,
                        "pack " + pack.name() + " is shorter than its index says");
            case GetResult.Unavailable(StoreFailure failure) ->
                new LoadResult.Unavailable(failure.toString());
        };
    }
}
