package dev.granary.s3.pack.format;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.ObjectName;

import java.util.Optional;

/**
 * The row of a pack in a head or base.
 *
 * @param name its name
 * @param bytes its length
 * @param indexOffset the end of its entries and start of its index
 * @param entries the number of its entries
 * @param filter the Bloom filter of its ids; empty if only the index of the pack has them
 */
public record PackInfo(
        ObjectName name,
        long bytes,
        long indexOffset,
        int entries,
        Optional<IdBloomFilter> filter) {
    /** The largest number of entries of a pack; its index has 14 MiB then. */
    public static final int MAX_ENTRIES = 1 << 18;

    /**
     * The largest size of a pack in bytes: a full one, plus the largest entry and the largest
     * index.
     */
    public static final long MAX_BYTES = PackBuilder.FULL_BYTES
            + (long) PackIndex.MAX_ENTRY_BYTES
            + (long) MAX_ENTRIES * PackIndex.ROW_BYTES
            + 4096;

    /**
     * Checks the lengths.
     *
     * @throws IllegalArgumentException if they cannot be those of a pack
     */
    public PackInfo {
        if (entries < 0
                || entries > MAX_ENTRIES
                || bytes > MAX_BYTES
                || indexOffset < PackIndex.HEADER_BYTES + (long) entries
                || indexOffset > bytes
                || bytes - indexOffset
                        != (long) entries * PackIndex.ROW_BYTES + PackIndex.FOOTER_BYTES) {
            throw new IllegalArgumentException("Not the lengths of a pack: " + bytes + " bytes, "
                    + entries + " entries, index at " + indexOffset);
        }
    }

    /** Returns the length of its index in bytes, footer included. */
    public int indexBytes() {
        return (int) (bytes - indexOffset);
    }

    /** Returns false if the pack does not have the id. */
    public boolean mayContain(Sha256 id) {
        return filter.isEmpty() || filter.get().mayContain(id);
    }

    /** Returns the size of the filter in bytes; 0 without one. */
    public int filterBytes() {
        return filter.map(IdBloomFilter::byteSize).orElse(0);
    }

    /** Returns this row with another filter. */
    public PackInfo with(Optional<IdBloomFilter> other) {
        return new PackInfo(name, bytes, indexOffset, entries, other);
    }

    /** Returns the row under another name, that of a copy of the pack. */
    public PackInfo named(ObjectName copy) {
        return new PackInfo(copy, bytes, indexOffset, entries, filter);
    }

    /**
     * Returns false if an index is that of another pack. An index does not contain the name of its
     * pack.
     */
    public boolean isIndexedBy(PackIndex index) {
        return index.size() == entries
                && index.locations().stream().allMatch(location -> mayContain(location.id()));
    }

    /** Returns the row as JSON. */
    public JsonObject json() {
        JsonObject row = new JsonObject();
        row.addProperty("name", name.toString());
        row.addProperty("bytes", bytes);
        row.addProperty("indexOffset", indexOffset);
        row.addProperty("entries", entries);
        filter.ifPresent(bits -> row.addProperty("filter", bits.encoded()));
        return row;
    }

    /**
     * Returns the row of {@link #json}.
     *
     * @throws RuntimeException if it is not one
     */
    public static PackInfo of(JsonElement element) {
        JsonObject row = element.getAsJsonObject();
        return new PackInfo(
                ObjectName.parse(row.get("name").getAsString()).orElseThrow(),
                row.get("bytes").getAsLong(),
                row.get("indexOffset").getAsLong(),
                row.get("entries").getAsInt(),
                Optional.ofNullable(row.get("filter"))
                        .map(JsonElement::getAsString)
                        .map(IdBloomFilter::decoded));
    }
}
