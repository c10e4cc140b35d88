package dev.granary.s3.pack.warm;

/**
 * Bulk reading with one thread, for tests of other packages that need a fixed order of requests.
 */
public final class SequentialReading {
    private SequentialReading() {}

    /** Returns the reader with one thread. */
    public static BulkEntryReader of(BulkEntryReader reader) {
        return reader.inOneThread();
    }
}
