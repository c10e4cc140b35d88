package dev.granary.s3.embedded;

/**
 * Numbers of requests that a server received, by kind.
 *
 * @param get reads of an object, whole or a range
 * @param head reads of the metadata of an object or a bucket
 * @param put writes of an object or a bucket
 * @param delete deletions
 * @param list listings of a bucket
 * @param other all others
 */
public record ServerRequestCounts(
        long get, long head, long put, long delete, long list, long other) {
    /** Returns the number of all requests. */
    public long total() {
        return get + head + put + delete + list + other;
    }
}
