package dev.granary.s3.pack.format;

import dev.granary.cache.Sha256;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.Collection;

/**
 * A Bloom filter (B. H. Bloom, 1970) of the ids in a pack, with 10 bits and 7 probes per id. Its
 * false positive rate is about 1 in 120. Immutable.
 *
 * <p>The probes are taken from the id's SHA-256 by double hashing (A. Kirsch, M. Mitzenmacher,
 * 2006).
 */
public final class IdBloomFilter {
    private static final int BITS_PER_ID = 10;
    private static final int PROBES = 7;

    private final long[] words;

    private IdBloomFilter(long[] words) {
        this.words = words;
    }

    /** Returns the filter of these ids, given by their hashes. */
    public static IdBloomFilter of(Collection<Sha256> ids) {
        IdBloomFilter filter = new IdBloomFilter(
                new long[Math.max(1, (ids.size() * BITS_PER_ID + Long.SIZE - 1) / Long.SIZE)]);
        ids.forEach(filter::add);
        return filter;
    }

    private void add(Sha256 id) {
        ByteBuffer hash = ByteBuffer.wrap(id.bytes());
        for (int probe = 0; probe < PROBES; probe++) {
            long bit = bit(hash, probe);
            words[(int) (bit / Long.SIZE)] |= 1L << bit;
        }
    }

    /** Returns false if the id is not among those of the filter. */
    public boolean mayContain(Sha256 id) {
        ByteBuffer hash = ByteBuffer.wrap(id.bytes());
        for (int probe = 0; probe < PROBES; probe++) {
            long bit = bit(hash, probe);
            if ((words[(int) (bit / Long.SIZE)] & 1L << bit) == 0) {
                return false;
            }
        }
        return true;
    }

    private long bit(ByteBuffer hash, int probe) {
        // an even step would reach few bits of a small filter
        long step = hash.getLong(2 * Long.BYTES) | 1;
        return Long.remainderUnsigned(
                hash.getLong(Long.BYTES) + probe * step, (long) words.length * Long.SIZE);
    }

    /** Returns true if the filter is large enough for that number of ids. */
    boolean hasRoomFor(int ids) {
        return ids >= 0 && (long) words.length * Long.SIZE >= (long) ids * BITS_PER_ID;
    }

    /** Returns the number of bytes that {@link #writeTo} writes. */
    int byteSize() {
        return Integer.BYTES + words.length * Long.BYTES;
    }

    void writeTo(ByteBuffer out) {
        out.putInt(words.length);
        for (long word : words) {
            out.putLong(word);
        }
    }

    /**
     * Reads a filter written by {@link #writeTo}.
     *
     * @throws BufferUnderflowException if the buffer ends before the filter does
     */
    static IdBloomFilter readFrom(ByteBuffer in) {
        int length = in.getInt();
        if (length < 1 || length > in.remaining() / Long.BYTES) {
            throw new BufferUnderflowException();
        }
        long[] words = new long[length];
        for (int i = 0; i < length; i++) {
            words[i] = in.getLong();
        }
        return new IdBloomFilter(words);
    }
}
