package dev.granary.s3.pack;

import dev.granary.cache.LoadResult;

/**
 * The result of a lookup in a bucket with its origin, for tools.
 *
 * @param result the result
 * @param origin the objects that decided
 */
public record BucketAnswer(LoadResult result, Origin origin) {
    /** The objects that decided about a lookup. */
    public enum Origin {
        /** A pack. */
        PACKS,
        /** The unpacked entry, or its absence, after no pack had a sound one. */
        UNPACKED
    }
}
