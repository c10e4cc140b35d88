package dev.granary.benchmarks.local.store;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * The frames that the compared stores hold: entries in the entry format of the tier, verified by
 * the tier's own code.
 */
public final class EntryFrames {
    /** The maximum length of a frame. */
    static final int LARGEST = 16 << 20;

    private EntryFrames() {}

    /** Returns a reusable buffer outside the heap for one reader, which holds any frame. */
    public static ByteBuffer buffer() {
        return ByteBuffer.allocateDirect(LARGEST);
    }

    /** Verifies key and checksums; returns the length of the frame. */
    static long verified(MemorySegment frame, Id id) throws IOException {
        return switch (EntryFormat.decode(frame, id, VerificationLevel.CHECKSUMS)) {
            case LoadResult.Hit _ -> frame.byteSize();
            case LoadResult.Damaged bad -> throw new IOException(id + " is damaged: " + bad);
            case LoadResult.Absent _, LoadResult.Unavailable _ ->
                throw new IOException(id + " did not decode");
        };
    }
}
