package dev.granary.cache.format;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Id;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * One row of an entry's section table and, when writing, its bytes.
 *
 * @param kind one of {@link #KEY}, {@link #METADATA}, {@link #BINARY}
 * @param encoding one of {@link #RAW}, {@link #ZSTD}
 * @param checksum the CRC-32C of the stored bytes
 * @param storedLength length in the frame
 * @param rawLength length after decoding
 */
record EntrySection(int kind, int encoding, int checksum, long storedLength, long rawLength) {
    static final int KEY = 1;
    static final int METADATA = 2;
    static final int BINARY = 3;

    static final int RAW = 0;
    static final int ZSTD = 1;

    /** Length of a row in bytes. */
    static final int ROW_BYTES = 24;

    /** No section is packed more tightly than this: a few stored bytes must not make a reader allocate a gigabyte. */
    static final int MAX_EXPANSION = 1024;

    private static final int WORTH_TRYING_BYTES = 256;

    /** A section with the bytes to be written. */
    record Encoded(EntrySection row, MemorySegment stored) {}

    /** The outcome of decoding a section. */
    sealed interface Decoded {
        /** The raw bytes, verified. */
        record Raw(MemorySegment bytes) implements Decoded {}

        /** Not what the header tells; the detail continues a sentence that starts with the section. */
        record Bad(DamageKind damage, String detail) implements Decoded {}
    }

    static Encoded encode(int kind, MemorySegment raw, Compression compression) {
        return switch (compression) {
            case NONE -> asIs(kind, raw);
            case ZSTD -> pack(raw)
                    .map(packed -> new Encoded(new EntrySection(kind, ZSTD, checksum(packed), packed.byteSize(), raw.byteSize()), packed))
                    .orElseGet(() -> asIs(kind, raw));
        };
    }

    private static Encoded asIs(int kind, MemorySegment raw) {
        return new Encoded(new EntrySection(kind, RAW, checksum(raw), raw.byteSize(), raw.byteSize()), raw);
    }

    private static Optional<MemorySegment> pack(MemorySegment raw) {
        if (raw.byteSize() < WORTH_TRYING_BYTES) {
            return Optional.empty();
        }
        return ZstdCodec.pack(raw)
                .filter(packed -> packed.byteSize() <= raw.byteSize() / 10 * 9)
                .filter(packed -> raw.byteSize() <= packed.byteSize() * MAX_EXPANSION);
    }

    void writeTo(ByteBuffer out) {
        out.putShort((short) kind).putShort((short) encoding).putInt(checksum).putLong(storedLength).putLong(rawLength);
    }

    static EntrySection readFrom(ByteBuffer in) {
        return new EntrySection(in.getShort() & 0xffff, in.getShort() & 0xffff, in.getInt(), in.getLong(), in.getLong());
    }

    /** Whether kind, encoding and lengths can occur together; they come from outside. */
    boolean isPlausible() {
        if (!isLength(storedLength) || !isLength(rawLength) || (kind == KEY && rawLength > Id.MAX_BYTES)) {
            return false;
        }
        return switch (encoding) {
            case RAW -> rawLength == storedLength;
            case ZSTD -> kind != METADATA && rawLength <= storedLength * MAX_EXPANSION;
            default -> false;
        };
    }

    private static boolean isLength(long length) {
        return length >= 0 && length <= EntryFormat.MAX_BYTES;
    }

    /** The raw bytes of a {@linkplain #isPlausible plausible} section, exactly {@link #rawLength} of them. */
    Decoded decode(MemorySegment stored) {
        if (checksum(stored) != checksum) {
            return new Decoded.Bad(DamageKind.CORRUPT, "does not match its checksum");
        }
        return encoding == RAW ? new Decoded.Raw(stored) : ZstdCodec.unpack(stored, rawLength);
    }

    static int checksum(MemorySegment bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes.asByteBuffer());
        return (int) crc.getValue();
    }
}
