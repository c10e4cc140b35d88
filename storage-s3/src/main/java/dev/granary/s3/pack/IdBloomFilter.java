package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.Collection;

/**
 * Says of an id that it is surely not in a pack, or that it may be, without the pack's index: a Bloom filter (B. H. Bloom, 1970) with ten bits
 * and seven probes for each id, which errs for one absent id in about 120. Immutable.
 *
 * <p>The probes come from the id's SHA-256 itself by double hashing (A. Kirsch, M. Mitzenmacher, 2006).
 */
public final class IdBloomFilter {
    private static final int BITS_PER_ID = 10;
    private static final int PROBES = 7;

    private final long[] words;

    private IdBloomFilter(long[] words) {
        this.words = words;
    }

    /** The filter of these ids, by their hashes. */
    static IdBloomFilter of(Collection<Sha256> ids) {
        IdBloomFilter filter = new IdBloomFilter(new long[Math.max(1, (ids.size() * BITS_PER_ID + Long.SIZE - 1) / Long.SIZE)]);
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

    /** False where the id is surely not among those that the filter was made of. */
    boolean mayContain(Sha256 id) {
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
        long step = hash.getLong(2 * Long.BYTES) | 1; // an even one would meet few of the bits of a small filter
        return Long.remainderUnsigned(hash.getLong(Long.BYTES) + probe * step, (long) words.length * Long.SIZE);
    }

    /** True where the filter may be that of so many ids: it is as large as theirs. */
    boolean hasRoomFor(int ids) {
        return ids >= 0 && (long) words.length * Long.SIZE >= (long) ids * BITS_PER_ID;
    }

    /** How many bytes {@link #writeTo} writes. */
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
     * Reads what {@link #writeTo} wrote.
     *
     * @throws BufferUnderflowException if the buffer has less than the filter says it has
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
