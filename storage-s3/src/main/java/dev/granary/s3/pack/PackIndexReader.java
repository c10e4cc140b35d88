package dev.granary.s3.pack;

import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.lang.foreign.ValueLayout;
import java.util.Optional;

/** Reader of the indexes of packs, from the local cache or from the bucket. */
public final class PackIndexReader {
    /** Without the right to list, Amazon S3 reports a missing object as forbidden. */
    private static final int FORBIDDEN = 403;

    static final int NOT_SATISFIABLE = 416;

    private PackIndexReader() {}

    /** The outcome of reading an index. */
    public sealed interface IndexResult {
        /** The verified index of the pack. */
        record Ok(PackIndex index) implements IndexResult {}

        /** The pack is missing, or its index cannot be used. */
        record Lost(boolean isThere, String cause) implements IndexResult {}

        /** The index could not be read, for a reason that says nothing about the pack. */
        record Unavailable(String cause) implements IndexResult {}
    }

    /**
     * Returns the index of a pack from the cache, or from the bucket, and then stores it in the
     * cache. One that seems damaged is read twice: a single wrong answer proves nothing.
     */
    public static IndexResult read(
            PackInfo pack, TargetLayout keys, PackIndexCache indexCache, ObjectStore store) {
        Optional<byte[]> cached = indexCache.encodedIndex(pack);
        if (cached.isPresent()) {
            if (decode(cached.get(), pack, keys) instanceof IndexResult.Ok ok) {
                return ok;
            }
            indexCache.remove(pack.name());
        }
        IndexResult result = request(pack, keys, indexCache, store);
        return result instanceof IndexResult.Lost lost && lost.isThere()
                ? request(pack, keys, indexCache, store)
                : result;
    }

    private static IndexResult request(
            PackInfo pack, TargetLayout keys, PackIndexCache indexCache, ObjectStore store) {
        return switch (store.range(keys.pack(pack.name()), pack.indexOffset(), pack.indexBytes())) {
            case GetResult.Found found -> {
                byte[] encoded = found.bytes().toArray(ValueLayout.JAVA_BYTE);
                IndexResult result = decode(encoded, pack, keys);
                if (result instanceof IndexResult.Ok) {
                    indexCache.store(pack, encoded);
                }
                yield result;
            }
            case GetResult.Absent _ -> new IndexResult.Lost(false, "it is not there");
            case GetResult.TooLarge _ ->
                new IndexResult.Unavailable("the server sent more of it than was requested");
            case GetResult.Unavailable(StoreFailure failure)
            when failure.status() == NOT_SATISFIABLE ->
                new IndexResult.Lost(true, "it is too short");
            case GetResult.Unavailable(StoreFailure failure)
            when failure.status() == FORBIDDEN ->
                new IndexResult.Unavailable("it is not there, or must not be read: " + failure);
            case GetResult.Unavailable(StoreFailure failure) ->
                new IndexResult.Unavailable(failure.toString());
        };
    }

    /** Returns the verified index of a pack. */
    public static IndexResult decode(byte[] encoded, PackInfo pack, TargetLayout keys) {
        return switch (PackIndex.decode(encoded, pack.indexOffset(), keys.namespace())) {
            case PackIndex.Read.Ok(PackIndex index) ->
                pack.isIndexedBy(index)
                        ? new IndexResult.Ok(index)
                        : new IndexResult.Lost(true, "its index is that of another pack");
            case PackIndex.Read.Bad bad
            when bad.damage() == DamageKind.TOO_NEW ->
                new IndexResult.Unavailable("a newer version wrote it: " + bad.detail());
            case PackIndex.Read.Bad bad ->
                new IndexResult.Lost(true, "its index is damaged: " + bad.detail());
        };
    }
}
