package dev.granary.cache.format;

import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.random.RandomGenerator;

/**
 * A random 128-bit id of one attempt to store an entry. If a writer reads back its own id, its
 * write succeeded although the response was lost.
 *
 * @param high the first 64 bits
 * @param low the last 64 bits
 */
public record WriteAttemptId(long high, long low) {
    /** The length in bytes. */
    public static final int BYTES = 16;

    /** The id of entries that are written without competing writers. */
    public static final WriteAttemptId NONE = new WriteAttemptId(0, 0);

    /** Returns a new random id. */
    public static WriteAttemptId random(RandomGenerator random) {
        return new WriteAttemptId(random.nextLong(), random.nextLong());
    }

    /** Returns the id as 32 lower-case hexadecimal digits. */
    public String hex() {
        return HexFormat.of().toHexDigits(high) + HexFormat.of().toHexDigits(low);
    }

    void writeTo(ByteBuffer out) {
        out.putLong(high).putLong(low);
    }

    static WriteAttemptId readFrom(ByteBuffer in) {
        return new WriteAttemptId(in.getLong(), in.getLong());
    }
}
