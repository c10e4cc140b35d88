package dev.granary.s3.pack;

import dev.granary.cache.Sha256;
import java.nio.ByteBuffer;

/**
 * What a manifest says of a pack.
 *
 * @param name the SHA-256 of its bytes, which names it
 * @param bytes its length
 * @param indexOffset where its entries end and its index begins
 * @param entries how many entries it has
 * @param since the number of the first manifest that named it; 0 before it is in one
 * @param filter which ids are surely not in it
 */
public record PackInfo(Sha256 name, long bytes, long indexOffset, int entries, long since, IdBloomFilter filter) {
    private static final int FIXED_BYTES = Sha256.BYTES + Long.BYTES + Long.BYTES + Integer.BYTES + Long.BYTES;

    /** No pack has more entries: its index has 14 MiB then. */
    static final int MAX_ENTRIES = 1 << 18;

    /** No pack is larger, in bytes: a full one, with the largest entry on top, and the largest index. */
    static final long MAX_BYTES = PackPublisher.FULL_BYTES + (long) PackIndex.MAX_ENTRY_BYTES + (long) MAX_ENTRIES * PackIndex.ROW_BYTES + 4096;

    /** How long its index is, footer included. */
    int indexBytes() {
        return (int) (bytes - indexOffset);
    }

    PackInfo since(long number) {
        return new PackInfo(name, bytes, indexOffset, entries, number, filter);
    }

    int byteSize() {
        return FIXED_BYTES + filter.byteSize();
    }

    void writeTo(ByteBuffer out) {
        out.put(name.bytes()).putLong(bytes).putLong(indexOffset).putInt(entries).putLong(since);
        filter.writeTo(out);
    }

    /** Reads what {@link #writeTo} wrote; throws {@link java.nio.BufferUnderflowException} where there is less. */
    static PackInfo readFrom(ByteBuffer in) {
        byte[] name = new byte[Sha256.BYTES];
        in.get(name);
        return new PackInfo(Sha256.ofDigest(name), in.getLong(), in.getLong(), in.getInt(), in.getLong(), IdBloomFilter.readFrom(in));
    }

    /** False where an index is surely that of another pack: names of packs do not stand in their indexes. */
    boolean isIndexedBy(PackIndex index) {
        return index.size() == entries && index.locations().stream().allMatch(location -> filter.mayContain(location.id()));
    }

    /**
     * False where the lengths cannot be those of a pack: memory for an index is taken only in proportion to a filter that is really there, and never
     * more than for {@value #MAX_ENTRIES} entries.
     */
    boolean isPlausible() {
        return filter.hasRoomFor(entries) && entries <= MAX_ENTRIES && bytes <= MAX_BYTES && indexOffset >= PackIndex.HEADER_BYTES + (long) entries && indexOffset <= bytes
                && bytes - indexOffset == (long) entries * PackIndex.ROW_BYTES + PackIndex.FOOTER_BYTES;
    }
}
