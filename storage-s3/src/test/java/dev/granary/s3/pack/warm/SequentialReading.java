package dev.granary.s3.pack.warm;

/** Bulk reading with one thread, for tests of other packages: several threads would send their requests in any order. */
public final class SequentialReading {
    private SequentialReading() {}

    /** The same reading with one thread. */
    public static BulkEntryReader of(BulkEntryReader reader) {
        return reader.inOneThread();
    }
}
