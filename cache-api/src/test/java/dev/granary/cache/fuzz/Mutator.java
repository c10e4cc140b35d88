package dev.granary.cache.fuzz;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A mutator of inputs: bits, bytes, lengths of four widths, cuts, repetitions, splices of two
 * seeds, pieces of a dictionary.
 */
final class Mutator {
    private static final long[] LENGTHS = {
        -1,
        0,
        1,
        2,
        127,
        128,
        255,
        256,
        65_535,
        1 << 20,
        1 << 30,
        Integer.MAX_VALUE,
        Integer.MAX_VALUE - 8L,
        1L << 31,
        1L << 32,
        1L << 62,
        Long.MAX_VALUE,
        Long.MIN_VALUE,
        Integer.MIN_VALUE
    };
    private static final int MAX_BYTES = 1 << 14;

    private final SplittableRandom random;
    private final FuzzTarget target;

    Mutator(FuzzTarget target, SplittableRandom random) {
        this.target = target;
        this.random = random;
    }

    byte[] next() {
        byte[] bytes = any(target.seeds()).clone();
        for (int changes = random.nextInt(1, 5); changes > 0; changes--) {
            bytes = changed(bytes);
        }
        bytes = bytes.length <= MAX_BYTES ? bytes : Arrays.copyOf(bytes, MAX_BYTES);
        return random.nextInt(8) == 0 ? bytes : target.repair().apply(bytes);
    }

    private <T> T any(List<T> all) {
        return all.get(random.nextInt(all.size()));
    }

    private byte[] changed(byte[] bytes) {
        int at = random.nextInt(bytes.length + 1);
        return switch (random.nextInt(9)) {
            case 0 ->
                withByte(bytes, at, at < bytes.length ? bytes[at] ^ (1 << random.nextInt(8)) : 0);
            case 1 -> withByte(bytes, at, random.nextInt());
            case 2, 3 -> withNumber(bytes);
            case 4 ->
                random.nextBoolean()
                        ? Arrays.copyOf(bytes, at)
                        : Arrays.copyOfRange(bytes, at, bytes.length);
            case 5 -> withPieceOfSeed(bytes, at);
            case 6 -> repeated(bytes, at, random.nextInt(at, bytes.length + 1));
            case 7 -> withNoise(bytes, at);
            default -> withWord(bytes, at);
        };
    }

    private static byte[] withByte(byte[] bytes, int at, int value) {
        if (at < bytes.length) {
            bytes[at] = (byte) value;
        }
        return bytes;
    }

    private byte[] withPieceOfSeed(byte[] bytes, int at) {
        byte[] other = any(target.seeds());
        int from = random.nextInt(other.length + 1);
        return spliced(
                bytes,
                at,
                at,
                Arrays.copyOfRange(other, from, random.nextInt(from, other.length + 1)));
    }

    private byte[] repeated(byte[] bytes, int from, int to) {
        byte[] piece = Arrays.copyOfRange(bytes, from, Math.min(to, from + 64));
        byte[] many = new byte[piece.length * random.nextInt(4)];
        for (int i = 0; i < many.length; i++) {
            many[i] = piece[i % piece.length];
        }
        return spliced(bytes, from, to, many);
    }

    private byte[] withNoise(byte[] bytes, int at) {
        byte[] noise = new byte[random.nextInt(1, 9)];
        random.nextBytes(noise);
        return spliced(bytes, at, at, noise);
    }

    private byte[] withWord(byte[] bytes, int at) {
        if (target.dictionary().isEmpty()) {
            return withNumber(bytes);
        }
        int end =
                random.nextBoolean() ? at : random.nextInt(at, Math.min(bytes.length, at + 8) + 1);
        return spliced(bytes, at, end, any(target.dictionary()));
    }

    private byte[] withNumber(byte[] bytes) {
        int width = 1 << random.nextInt(4);
        if (bytes.length < width) {
            return bytes;
        }
        ByteBuffer out = ByteBuffer.wrap(bytes)
                .order(random.nextInt(4) == 0 ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN);
        int at = random.nextInt(bytes.length - width + 1);
        long number = random.nextBoolean()
                ? LENGTHS[random.nextInt(LENGTHS.length)]
                : random.nextInt(-4, 5) + (width == 8 ? out.getLong(at) : bytes.length);
        switch (width) {
            case 1 -> out.put(at, (byte) number);
            case 2 -> out.putShort(at, (short) number);
            case 4 -> out.putInt(at, (int) number);
            default -> out.putLong(at, number);
        }
        return bytes;
    }

    private static byte[] spliced(byte[] bytes, int from, int to, byte[] piece) {
        byte[] all = Arrays.copyOf(bytes, bytes.length - (to - from) + piece.length);
        System.arraycopy(piece, 0, all, from, piece.length);
        System.arraycopy(bytes, to, all, from + piece.length, bytes.length - to);
        return all;
    }
}
