package dev.granary.cache.format;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * A random mutator of bytes: bits, bytes, lengths, cuts, insertions, and pieces of another sound
 * entry.
 */
final class ByteMutator {
    private static final long[] LENGTHS = {
        -1, 0, 1, 255, 1L << 31, (1L << 31) - 1, 1L << 32, 1L << 62, Long.MAX_VALUE, Long.MIN_VALUE
    };

    private ByteMutator() {}

    static byte[] of(byte[] good, byte[] other, SplittableRandom random) {
        byte[] bytes = good.clone();
        for (int changes = random.nextInt(1, 4); changes > 0 && bytes.length > 8; changes--) {
            bytes = changed(bytes, other, random);
        }
        return bytes;
    }

    private static byte[] changed(byte[] bytes, byte[] other, SplittableRandom random) {
        int at = random.nextInt(bytes.length);
        switch (random.nextInt(7)) {
            case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
            case 1 -> bytes[at] = (byte) random.nextInt();
            case 2 ->
                ByteBuffer.wrap(bytes)
                        .putLong(
                                random.nextInt(bytes.length - 7),
                                LENGTHS[random.nextInt(LENGTHS.length)]);
            case 3 ->
                Arrays.fill(
                        bytes, at, random.nextInt(at, bytes.length) + 1, (byte) random.nextInt());
            case 4 -> {
                return Arrays.copyOf(bytes, at);
            }
            case 5 -> {
                return inserted(bytes, at, random);
            }
            default -> {
                int length = random.nextInt(Math.min(bytes.length, other.length));
                System.arraycopy(
                        other,
                        random.nextInt(other.length - length),
                        bytes,
                        random.nextInt(bytes.length - length),
                        length);
            }
        }
        return bytes;
    }

    private static byte[] inserted(byte[] bytes, int at, SplittableRandom random) {
        byte[] more = new byte[random.nextInt(1, 40)];
        random.nextBytes(more);
        byte[] longer = Arrays.copyOf(bytes, bytes.length + more.length);
        System.arraycopy(bytes, at, longer, at + more.length, bytes.length - at);
        System.arraycopy(more, 0, longer, at, more.length);
        return longer;
    }
}
