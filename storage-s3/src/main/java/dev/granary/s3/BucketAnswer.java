package dev.granary.s3;

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
        /** The packs: one has the entry, or their manifest excludes an unpacked one. */
        PACKS,
        /** The unpacked entry, after no pack had a sound one. */
        UNPACKED
    }
}
