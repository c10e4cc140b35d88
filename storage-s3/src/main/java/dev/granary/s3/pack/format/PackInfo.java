package dev.granary.s3.pack.format;

import dev.granary.cache.Sha256;

import java.nio.ByteBuffer;

/**
 * The row of a pack in a manifest.
 *
 * @param name the SHA-256 of its bytes, which names it
 * @param bytes its length
 * @param indexOffset the end of its entries and start of its index
 * @param entries the number of its entries
 * @param since the number of the first manifest that named it; 0 before it is in one
 * @param filter the Bloom filter of its ids
 */
public record PackInfo(
        Sha256 name, long bytes, long indexOffset, int entries, long since, IdBloomFilter filter) {
    private static final int FIXED_BYTES =
            Sha256.BYTES + Long.BYTES + Long.BYTES + Integer.BYTES + Long.BYTES;

    /** The largest number of entries of a pack; its index has 14 MiB then. */
    public static final int MAX_ENTRIES = 1 << 18;

    /**
     * The largest size of a pack in bytes: a full one, plus the largest entry and the largest
     * index.
     */
    static final long MAX_BYTES = PackBuilder.FULL_BYTES
            + (long) PackIndex.MAX_ENTRY_BYTES
            + (long) MAX_ENTRIES * PackIndex.ROW_BYTES
            + 4096;

    /** Returns the length of its index in bytes, footer included. */
    public int indexBytes() {
        return (int) (bytes - indexOffset);
    }

    public PackInfo since(long number) {
        return new PackInfo(name, bytes, indexOffset, entries, number, filter);
    }

    public int byteSize() {
        return FIXED_BYTES + filter.byteSize();
    }

    public void writeTo(ByteBuffer out) {
        out.put(name.bytes())
                .putLong(bytes)
                .putLong(indexOffset)
                .putInt(entries)
                .putLong(since);
        filter.writeTo(out);
    }

    /**
     * Reads a row written by {@link #writeTo}.
     *
     * @throws java.nio.BufferUnderflowException if the buffer ends before the row does
     */
    public static PackInfo readFrom(ByteBuffer in) {
        byte[] name = new byte[Sha256.BYTES];
        in.get(name);
        return new PackInfo(
                Sha256.ofDigest(name),
                in.getLong(),
                in.getLong(),
                in.getInt(),
                in.getLong(),
                IdBloomFilter.readFrom(in));
    }

    /**
     * Returns false if an index is that of another pack. An index does not contain the name of its
     * pack.
     */
    public boolean isIndexedBy(PackIndex index) {
        return index.size() == entries
                && index.locations().stream()
                        .allMatch(location -> filter.mayContain(location.id()));
    }

    /**
     * Returns false if the lengths cannot be those of a pack. Memory for an index is allocated only
     * in proportion to a filter that was received, and never for more than {@value #MAX_ENTRIES}
     * entries.
     */
    public boolean isPlausible() {
        return filter.hasRoomFor(entries)
                && entries <= MAX_ENTRIES
                && bytes <= MAX_BYTES
                && indexOffset >= PackIndex.HEADER_BYTES + (long) entries
                && indexOffset <= bytes
                && bytes - indexOffset
                        == (long) entries * PackIndex.ROW_BYTES + PackIndex.FOOTER_BYTES;
    }
}
