package dev.granary.cache.format;

import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.random.RandomGenerator;

/**
 * A random 128-bit mark of one attempt to store an entry: a writer that finds its own mark knows that its write has landed, although the
 * answer was lost.
 *
 * @param high the first 64 bits
 * @param low the last 64 bits
 */
public record WriteAttemptId(long high, long low) {
    /** Length in bytes. */
    public static final int BYTES = 16;

    /** The mark of entries that nobody races for. */
    public static final WriteAttemptId NONE = new WriteAttemptId(0, 0);

    /** A new mark. */
    public static WriteAttemptId random(RandomGenerator random) {
        return new WriteAttemptId(random.nextLong(), random.nextLong());
    }

    /** The mark as 32 lower-case hexadecimal digits. */
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
