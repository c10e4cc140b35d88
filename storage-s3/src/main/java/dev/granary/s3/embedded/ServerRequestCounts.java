package dev.granary.s3.embedded;

/**
 * How many requests came in over the wire, by kind.
 *
 * @param get reads of an object, whole or a range
 * @param head reads of an object's or a bucket's metadata
 * @param put writes of an object or a bucket
 * @param delete deletions
 * @param list listings of a bucket
 * @param other all else
 */
public record ServerRequestCounts(long get, long head, long put, long delete, long list, long other) {
    /** All requests. */
    public long total() {
        return get + head + put + delete + list + other;
    }
}
