package dev.granary.s3.pack.format;

import dev.granary.cache.Sha256;

import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Collection;

/**
 * A Bloom filter (B. H. Bloom, 1970) of the ids in a pack, with 16 bits and 11 probes per id. Its
 * false positive rate is about 1 in 2,200. Immutable.
 *
 * <p>The probes are taken from the id's SHA-256 by enhanced double hashing (P. C. Dillinger, P.
 * Manolios, 2004).
 */
public final class IdBloomFilter {
    private static final int BITS_PER_ID = 16;
    private static final int PROBES = 11;

    private final long[] words;

    private IdBloomFilter(long[] words) {
        this.words = words;
    }

    /** Returns the filter of the ids in an index. */
    public static IdBloomFilter of(PackIndex index) {
        return of(index.locations().stream().map(PackLocation::id).toList());
    }

    /** Returns the filter of these ids, given by their hashes. */
    public static IdBloomFilter of(Collection<Sha256> ids) {
        IdBloomFilter filter = new IdBloomFilter(
                new long[Math.max(1, (ids.size() * BITS_PER_ID + Long.SIZE - 1) / Long.SIZE)]);
        for (Sha256 id : ids) {
            for (long bit : filter.probes(id)) {
                filter.words[(int) (bit / Long.SIZE)] |= 1L << bit;
            }
        }
        return filter;
    }

    /** Returns false if the id is not among those of the filter. */
    public boolean mayContain(Sha256 id) {
        for (long bit : probes(id)) {
            if ((words[(int) (bit / Long.SIZE)] & 1L << bit) == 0) {
                return false;
            }
        }
        return true;
    }

    private long[] probes(Sha256 id) {
        ByteBuffer hash = ByteBuffer.wrap(id.bytes());
        long[] bits = new long[PROBES];
        long at = hash.getLong(Long.BYTES);
        long step = hash.getLong(2 * Long.BYTES);
        for (int i = 0; i < PROBES; i++) {
            bits[i] = Long.remainderUnsigned(at, (long) words.length * Long.SIZE);
            at += step;
            step += i;
        }
        return bits;
    }

    /** Returns its size in bytes. */
    public int byteSize() {
        return words.length * Long.BYTES;
    }

    /** Returns the bits in Base64. */
    String encoded() {
        ByteBuffer bytes = ByteBuffer.allocate(byteSize());
        bytes.asLongBuffer().put(words);
        return Base64.getEncoder().encodeToString(bytes.array());
    }

    /**
     * Returns the filter of {@link #encoded}.
     *
     * @throws IllegalArgumentException if it is not one
     */
    static IdBloomFilter decoded(String text) {
        byte[] bytes = Base64.getDecoder().decode(text);
        if (bytes.length == 0 || bytes.length % Long.BYTES != 0) {
            throw new IllegalArgumentException("A filter of " + bytes.length + " bytes");
        }
        long[] words = new long[bytes.length / Long.BYTES];
        ByteBuffer.wrap(bytes).asLongBuffer().get(words);
        return new IdBloomFilter(words);
    }
}
