package dev.granary.s3.pack.format;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Sha256;
import dev.granary.cache.format.WriteAttemptId;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * Builder of a pack from entries of one target. Not thread-safe.
 *
 * <p>A pack contains a random number, so that no two packs have the same name. A removed pack is
 * thus never written again.
 */
public final class PackBuilder {
    /** The size in bytes from which a pack is full. */
    public static final int FULL_BYTES = 32 << 20;

    private static final byte[] MAGIC = "GRANPACK".getBytes(US_ASCII);
    private static final int FIRST_BYTES = 1 << 20;

    private final String namespace;
    private final List<PackLocation> locations = new ArrayList<>();
    private final Set<Sha256> ids = new HashSet<>();
    private byte[] buffer = new byte[FIRST_BYTES];
    private int length;

    /** Starts a pack for the target of that namespace. */
    public PackBuilder(String namespace, RandomGenerator random) {
        this.namespace = namespace;
        writeHeader(buffer, random);
        this.length = PackIndex.HEADER_BYTES;
    }

    private static void writeHeader(byte[] body, RandomGenerator random) {
        ByteBuffer header = ByteBuffer.wrap(body);
        header.put(MAGIC).putInt(PackIndex.VERSION).putInt(0);
        WriteAttemptId nonce = WriteAttemptId.random(random);
        header.putLong(nonce.high()).putLong(nonce.low());
    }

    /**
     * Returns the same pack under another name, in the same memory; {@code pack} must not be used
     * any more.
     */
    public static Pack renamed(Pack pack, RandomGenerator random) {
        byte[] body = pack.body();
        PackInfo old = pack.info();
        writeHeader(body, random);
        return new Pack(
                body,
                new PackInfo(
                        Sha256.of(body),
                        old.bytes(),
                        old.indexOffset(),
                        old.entries(),
                        0,
                        old.filter()));
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
        if (!ids.add(id)) {
            return;
        }
        if (entry.length > buffer.length - length) {
            buffer = Arrays.copyOf(buffer, Math.max(2 * buffer.length, length + entry.length));
        }
        System.arraycopy(entry, 0, buffer, length, entry.length);
        locations.add(new PackLocation(
                id, length, entry.length, PackIndex.crc(entry, 0, entry.length), compileNanos));
        length += entry.length;
    }

    /** Returns true if no more entries should be added. */
    public boolean isFull() {
        return bytes() >= FULL_BYTES || locations.size() >= PackInfo.MAX_ENTRIES;
    }

    /** Returns the size of the entries so far, in bytes. */
    public long bytes() {
        return length - (long) PackIndex.HEADER_BYTES;
    }

    /** Returns the number of entries so far. */
    public int size() {
        return locations.size();
    }

    /** Returns the pack. The builder must not be used any more. */
    public Pack build() {
        locations.sort(Comparator.comparing(
                PackLocation::id, (a, b) -> Arrays.compareUnsigned(a.bytes(), b.bytes())));
        byte[] encodedIndex = PackIndex.encode(locations, length, namespace);
        byte[] body = Arrays.copyOf(buffer, length + encodedIndex.length);
        System.arraycopy(encodedIndex, 0, body, length, encodedIndex.length);
        Sha256 name = Sha256.of(body);
        IdBloomFilter filter =
                IdBloomFilter.of(locations.stream().map(PackLocation::id).toList());
        return new Pack(body, new PackInfo(name, body.length, length, locations.size(), 0, filter));
    }
}
