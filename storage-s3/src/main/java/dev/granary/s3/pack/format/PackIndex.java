package dev.granary.s3.pack.format;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;

import java.nio.ByteBuffer;
import java.util.AbstractList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * The index of a pack: the location of each entry, sorted by the hash of its id. Immutable,
 * thread-safe.
 *
 * <p>It ends the pack, as rows and a footer, and is cached on the local disk in the same form. The
 * layout is in {@code docs/bucket.md}.
 */
public final class PackIndex {
    /** The length of the header of a pack in bytes. */
    public static final int HEADER_BYTES = 32;

    /** The largest size of an entry in a pack, in bytes; larger ones stay unpacked. */
    public static final int MAX_ENTRY_BYTES = 32 << 20;

    public static final int VERSION = 2;
    public static final int FOOTER_BYTES = 64;
    public static final int ROW_BYTES =
            Sha256.BYTES + Long.BYTES + Integer.BYTES + Integer.BYTES + Long.BYTES;

    private static final byte[] MAGIC = "GRANPEND".getBytes(US_ASCII);

    /** The order of ids in a pack and its index. */
    public static final Comparator<Sha256> ORDER =
            (one, other) -> Arrays.compareUnsigned(one.bytes(), other.bytes());

    private final byte[] rows;
    private final int count;

    private PackIndex(byte[] rows, int count) {
        this.rows = rows;
        this.count = count;
    }

    /** The outcome of decoding an index. */
    public sealed interface Read {
        /** A sound index of the pack. */
        record Ok(PackIndex index) implements Read {}

        /** A damaged or foreign index. */
        record Bad(DamageKind damage, String detail) implements Read {}
    }

    /** Returns the number of entries in the pack. */
    public int size() {
        return count;
    }

    /** Returns the location of the entry with that id, or empty if the pack has none. */
    public Optional<PackLocation> find(Sha256 id) {
        byte[] wanted = id.bytes();
        int low = 0;
        int high = count - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            int at = middle * ROW_BYTES;
            int order =
                    Arrays.compareUnsigned(rows, at, at + Sha256.BYTES, wanted, 0, Sha256.BYTES);
            if (order == 0) {
                return Optional.of(location(middle));
            } else if (order < 0) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return Optional.empty();
    }

    /** Returns a view of all locations, in the order of their ids' hashes. */
    public List<PackLocation> locations() {
        return new AbstractList<>() {
            @Override
            public PackLocation get(int i) {
                return location(i);
            }

            @Override
            public int size() {
                return count;
            }
        };
    }

    private PackLocation location(int row) {
        ByteBuffer in = ByteBuffer.wrap(rows, row * ROW_BYTES, ROW_BYTES);
        byte[] id = new byte[Sha256.BYTES];
        in.get(id);
        return new PackLocation(
                Sha256.ofDigest(id), in.getLong(), in.getInt(), in.getInt(), in.getLong());
    }

    /**
     * Encodes rows and footer of a pack whose entries end at {@code indexOffset}; {@code locations}
     * are sorted.
     */
    public static byte[] encode(List<PackLocation> locations, long indexOffset, String namespace) {
        ByteBuffer out = ByteBuffer.allocate(locations.size() * ROW_BYTES + FOOTER_BYTES);
        for (PackLocation location : locations) {
            out.put(location.id().bytes())
                    .putLong(location.offset())
                    .putInt(location.length())
                    .putInt(location.checksum())
                    .putLong(location.compileNanos());
        }
        int rowBytes = out.position();
        out.put(MAGIC).putInt(VERSION).putInt(locations.size()).putLong(indexOffset);
        out.putInt(crc(out.array(), 0, rowBytes))
                .put(Sha256.of(namespace.getBytes(UTF_8)).bytes());
        out.putInt(crc(out.array(), rowBytes, out.position() - rowBytes));
        return out.array();
    }

    /**
     * Returns the number of entries that the footer of a whole pack states, not verified; -1 if the
     * pack is too short.
     */
    public static int entries(byte[] pack) {
        return pack.length < HEADER_BYTES + FOOTER_BYTES
                ? -1
                : ByteBuffer.wrap(pack)
                        .getInt(pack.length - FOOTER_BYTES + MAGIC.length + Integer.BYTES);
    }

    /** Decodes all bytes of a pack that follow its entries. */
    public static Read decode(byte[] encodedIndex, long indexOffset, String namespace) {
        int rowBytes = encodedIndex.length - FOOTER_BYTES;
        if (rowBytes < 0) {
            return new Read.Bad(
                    DamageKind.TRUNCATED,
                    encodedIndex.length + " bytes are too few for the footer of a pack");
        }
        ByteBuffer footer = ByteBuffer.wrap(encodedIndex, rowBytes, FOOTER_BYTES);
        byte[] magic = new byte[MAGIC.length];
        footer.get(magic);
        int version = footer.getInt();
        if (!Arrays.equals(magic, MAGIC)) {
            return new Read.Bad(DamageKind.FOREIGN, "not the end of a pack");
        }
        if (crc(encodedIndex, rowBytes, FOOTER_BYTES - Integer.BYTES)
                != ByteBuffer.wrap(encodedIndex).getInt(encodedIndex.length - Integer.BYTES)) {
            return new Read.Bad(DamageKind.CORRUPT, "the footer does not match its checksum");
        }
        if (version != VERSION) {
            return new Read.Bad(
                    version < VERSION ? DamageKind.TOO_OLD : DamageKind.TOO_NEW,
                    "pack version " + version);
        }
        int count = footer.getInt();
        long offset = footer.getLong();
        int rowsChecksum = footer.getInt();
        byte[] target = new byte[Sha256.BYTES];
        footer.get(target);
        if (count < 0
                || offset < HEADER_BYTES
                || (long) count * ROW_BYTES != rowBytes
                || offset != indexOffset) {
            return new Read.Bad(DamageKind.CORRUPT, "the lengths in the footer do not add up");
        }
        if (!Arrays.equals(target, Sha256.of(namespace.getBytes(UTF_8)).bytes())) {
            return new Read.Bad(DamageKind.WRONG_KEY, "the pack of another target");
        }
        if (crc(encodedIndex, 0, rowBytes) != rowsChecksum) {
            return new Read.Bad(DamageKind.CORRUPT, "the index does not match its checksum");
        }
        PackIndex index = new PackIndex(Arrays.copyOf(encodedIndex, rowBytes), count);
        return index.isConsistent(indexOffset)
                ? new Read.Ok(index)
                : new Read.Bad(DamageKind.CORRUPT, "the index is not in order");
    }

    /**
     * Returns false if the index is out of order or its lengths do not add up. Their sum may not
     * exceed the pack, so that overlapping entries cannot make a reader read far more than that.
     */
    private boolean isConsistent(long indexOffset) {
        long left = indexOffset - HEADER_BYTES;
        for (int i = 0; i < count; i++) {
            int at = i * ROW_BYTES;
            boolean isSorted = i == 0
                    || Arrays.compareUnsigned(
                                    rows,
                                    at - ROW_BYTES,
                                    at - ROW_BYTES + Sha256.BYTES,
                                    rows,
                                    at,
                                    at + Sha256.BYTES)
                            < 0;
            ByteBuffer row = ByteBuffer.wrap(rows, at + Sha256.BYTES, Long.BYTES + Integer.BYTES);
            long offset = row.getLong();
            int length = row.getInt();
            if (!isSorted
                    || length < 1
                    || length > MAX_ENTRY_BYTES
                    || offset < HEADER_BYTES
                    || offset > indexOffset - length
                    || length > left) {
                return false;
            }
            left -= length;
        }
        return true;
    }

    public static int crc(byte[] bytes, int offset, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, offset, length);
        return (int) crc.getValue();
    }
}
