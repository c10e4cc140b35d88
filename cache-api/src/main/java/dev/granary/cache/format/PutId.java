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
public record PutId(long high, long low) {
    /** Length in bytes. */
    public static final int BYTES = 16;

    /** The mark of entries that nobody races for. */
    public static final PutId NONE = new PutId(0, 0);

    /** A new mark. */
    public static PutId random(RandomGenerator random) {
        return new PutId(random.nextLong(), random.nextLong());
    }

    /** The mark as 32 lower-case hexadecimal digits. */
    public String hex() {
        return HexFormat.of().toHexDigits(high) + HexFormat.of().toHexDigits(low);
    }

    void writeTo(ByteBuffer out) {
        out.putLong(high).putLong(low);
    }

    static PutId readFrom(ByteBuffer in) {
        return new PutId(in.getLong(), in.getLong());
    }
}
