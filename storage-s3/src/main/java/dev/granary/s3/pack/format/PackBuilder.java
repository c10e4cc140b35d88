package dev.granary.s3.pack.format;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.ObjectName;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.UnaryOperator;
import java.util.random.RandomGenerator;

/**
 * Builder of a pack from entries of one target. Not thread-safe.
 *
 * <p>Entries lie in the order of their ids, so that a compaction reads a range of ids with one
 * request. A pack contains a random number, so that no two packs have the same name.
 */
public final class PackBuilder {
    /** The size in bytes from which a pack is full. */
    public static final int FULL_BYTES = 32 << 20;

    private static final byte[] MAGIC = "GRANPACK".getBytes(US_ASCII);

    private final String namespace;
    private final UUID nonce;
    private final Map<Sha256, Added> added = new TreeMap<>(PackIndex.ORDER);
    private long bytes;

    private static final class Added {
        private final byte[] entry;
        private final long compileNanos;

        Added(byte[] entry, long compileNanos) {
            this.entry = entry;
            this.compileNanos = compileNanos;
        }
    }

    /** A finished pack. Immutable. */
    public static final class Pack {
        private final byte[] body;
        private final Sha256 hash;
        private final List<PackLocation> locations;

        private Pack(byte[] body, List<PackLocation> locations) {
            this.body = body;
            this.hash = Sha256.of(body);
            this.locations = locations;
        }

        /** Returns the object's bytes; not a copy. */
        public byte[] body() {
            return body;
        }

        /** Returns the entries, in the order of their ids. */
        public List<PackLocation> locations() {
            return locations;
        }

        /** Returns its row, with the name that a writer of that generation gives it. */
        public PackInfo info(long generation) {
            int indexOffset =
                    body.length - locations.size() * PackIndex.ROW_BYTES - PackIndex.FOOTER_BYTES;
            return new PackInfo(
                    new ObjectName(generation, hash),
                    body.length,
                    indexOffset,
                    locations.size(),
                    Optional.of(IdBloomFilter.of(
                            locations.stream().map(PackLocation::id).toList())));
        }
    }

    /** Starts a pack for the target of that namespace. */
    public PackBuilder(String namespace, RandomGenerator random) {
        this.namespace = namespace;
        this.nonce = new UUID(random.nextLong(), random.nextLong());
    }

    /** Returns true if an entry of that many bytes fits into a pack. */
    public static boolean fits(long entryBytes) {
        return entryBytes <= PackIndex.MAX_ENTRY_BYTES;
    }

    /**
     * Adds an entry, unless one with the same id was added before.
     *
     * @param id the hash of its id
     * @param entry the whole encoded entry, sound
     * @throws IllegalArgumentException if it does not {@linkplain #fits fit}
     */
    public void add(Sha256 id, byte[] entry, long compileNanos) {
        if (!fits(entry.length) || entry.length == 0) {
            throw new IllegalArgumentException(
                    "No pack takes an entry of " + entry.length + " bytes");
        }
        if (added.putIfAbsent(id, new Added(entry, compileNanos)) == null) {
            bytes += entry.length;
        }
    }

    /** Changes the bytes of an entry that was added, unless it would not {@linkplain #fits fit}. */
    public void change(Sha256 id, UnaryOperator<byte[]> change) {
        added.computeIfPresent(id, (_, before) -> {
            byte[] entry = change.apply(before.entry);
            if (!fits(entry.length)) {
                return before;
            }
            bytes += entry.length - before.entry.length;
            return new Added(entry, before.compileNanos);
        });
    }

    /**
     * Returns true if no more entries should be added.
     *
     * @param reserved the bytes by which {@link #change} will make entries longer
     */
    public boolean isFull(long reserved) {
        return bytes + reserved >= FULL_BYTES || added.size() >= PackInfo.MAX_ENTRIES;
    }

    /** Returns the number of entries so far. */
    public int size() {
        return added.size();
    }

    /** Returns the pack. */
    public Pack build() {
        int indexOffset = (int) (PackIndex.HEADER_BYTES + bytes);
        ByteBuffer body = ByteBuffer.allocate(
                indexOffset + added.size() * PackIndex.ROW_BYTES + PackIndex.FOOTER_BYTES);
        body.put(MAGIC).putInt(PackIndex.VERSION).putInt(0);
        body.putLong(nonce.getMostSignificantBits()).putLong(nonce.getLeastSignificantBits());
        List<PackLocation> locations = new ArrayList<>();
        added.forEach((id, one) -> {
            int length = one.entry.length;
            locations.add(new PackLocation(
                    id,
                    body.position(),
                    length,
                    PackIndex.crc(one.entry, 0, length),
                    one.compileNanos));
            body.put(one.entry);
        });
        body.put(PackIndex.encode(locations, indexOffset, namespace));
        return new Pack(body.array(), locations);
    }
}
