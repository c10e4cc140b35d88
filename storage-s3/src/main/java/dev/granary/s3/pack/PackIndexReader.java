package dev.granary.s3.pack;

import dev.granary.cache.DamageKind;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.AbsenceVerifier;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.lang.foreign.ValueLayout;
import java.util.Optional;

/** Reader of the indexes of packs, from the local cache or from the bucket. */
public final class PackIndexReader {
    private static final int NOT_SATISFIABLE = 416;

    private PackIndexReader() {}

    /** The outcome of reading an index. */
    public sealed interface IndexResult {
        /** The verified index of the pack. */
        record Ok(PackIndex index) implements IndexResult {}

        /** The pack is missing, or its index is damaged. */
        record Lost(String cause) implements IndexResult {}

        /**
         * The pack is missing or must not be read: without the right to list, the server returns
         * 403 for both.
         */
        record Forbidden(StoreFailure failure) implements IndexResult {
            public String cause() {
                return "it is not there, or must not be read: " + failure;
            }
        }

        /** A newer version of Granary wrote it. */
        record Newer(String cause) implements IndexResult {}

        /** The index could not be read, for a reason that says nothing about the pack. */
        record Unavailable(StoreFailure failure) implements IndexResult {}
    }

    /**
     * Returns the index of a pack from the cache, or from the bucket, and then stores it in the
     * cache.
     */
    public static IndexResult read(
            PackInfo pack, TargetLayout keys, PackIndexCache indexCache, ObjectStore store) {
        Optional<byte[]> cached = indexCache.encodedIndex(pack);
        if (cached.isPresent()) {
            if (PackIndex.decode(cached.get(), pack.indexOffset(), keys.namespace())
                            instanceof PackIndex.Read.Ok ok
                    && pack.isIndexedBy(ok.index())) {
                return new IndexResult.Ok(ok.index());
            }
            indexCache.remove(pack.name());
        }
        return switch (store.range(keys.pack(pack.name()), pack.indexOffset(), pack.indexBytes())) {
            case GetResult.Found found -> {
                byte[] encodedIndex = found.bytes().toArray(ValueLayout.JAVA_BYTE);
                yield switch (PackIndex.decode(
                        encodedIndex, pack.indexOffset(), keys.namespace())) {
                    case PackIndex.Read.Ok ok
                    when !pack.isIndexedBy(ok.index()) ->
                        new IndexResult.Lost("its index is that of another pack");
                    case PackIndex.Read.Ok ok -> {
                        indexCache.store(pack, encodedIndex);
                        yield new IndexResult.Ok(ok.index());
                    }
                    case PackIndex.Read.Bad bad
                    when bad.damage() == DamageKind.TOO_NEW ->
                        new IndexResult.Newer("a newer version wrote it: " + bad.detail());
                    case PackIndex.Read.Bad bad ->
                        new IndexResult.Lost("its index is damaged: " + bad.detail());
                };
            }
            case GetResult.Absent _ -> new IndexResult.Lost("it is not there");
            case GetResult.TooLarge _ ->
                new IndexResult.Lost("the server sent more of it than was requested");
            case GetResult.Unavailable unavailable
            when unavailable.failure().status() == NOT_SATISFIABLE ->
                new IndexResult.Lost("it is too short");
            case GetResult.Unavailable unavailable
            when isGone(unavailable.failure(), pack, keys, store) ->
                new IndexResult.Forbidden(unavailable.failure());
            case GetResult.Unavailable unavailable ->
                new IndexResult.Unavailable(unavailable.failure());
        };
    }

    /** Returns true if the pack is missing or too short. */
    static boolean isGone(
            StoreFailure failure, PackInfo pack, TargetLayout keys, ObjectStore store) {
        return failure.status() == NOT_SATISFIABLE
                || AbsenceVerifier.isAbsent(failure, keys.pack(pack.name()), store, keys);
    }
}
