package dev.granary.cache.format;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.format.EntryFormat.Compression;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * A row of an entry's section table.
 *
 * @param kind one of {@link #KEY}, {@link #METADATA}, {@link #SIGNATURE}, {@link #BINARY}
 * @param encoding one of {@link #RAW}, {@link #ZSTD}
 * @param checksum the CRC-32C of the stored bytes
 * @param storedLength the length of the stored bytes
 * @param rawLength the length after decoding
 */
record EntrySection(int kind, int encoding, int checksum, long storedLength, long rawLength) {
    static final int KEY = 1;
    static final int METADATA = 2;
    static final int SIGNATURE = 3;
    static final int BINARY = 4;

    static final int RAW = 0;
    static final int ZSTD = 1;

    /** The length of a row in bytes. */
    static final int ROW_BYTES = 24;

    /**
     * The greatest compression ratio, so that a few stored bytes cannot make a reader allocate a
     * gigabyte.
     */
    static final int MAX_EXPANSION = 1024;

    static final int MAX_SIGNATURE_BYTES = 4 << 10;

    private static final int MIN_COMPRESSIBLE_BYTES = 256;

    /** A section with its encoded bytes. */
    record Encoded(EntrySection row, MemorySegment stored) {}

    /** The outcome of decoding a section. */
    sealed interface Decoded {
        /** The verified raw bytes. */
        record Raw(MemorySegment bytes) implements Decoded {}

        /**
         * Bytes that do not match the header. The detail continues a sentence whose subject is the
         * section.
         */
        record Bad(DamageKind damage, String detail) implements Decoded {}
    }

    static Encoded encode(int kind, MemorySegment raw, Compression compression) {
        return switch (compression) {
            case NONE -> uncompressed(kind, raw);
            case ZSTD ->
                compress(raw)
                        .map(compressed -> new Encoded(
                                new EntrySection(
                                        kind,
                                        ZSTD,
                                        checksum(compressed),
                                        compressed.byteSize(),
                                        raw.byteSize()),
                                compressed))
                        .orElseGet(() -> uncompressed(kind, raw));
        };
    }

    private static Encoded uncompressed(int kind, MemorySegment raw) {
        return new Encoded(
                new EntrySection(kind, RAW, checksum(raw), raw.byteSize(), raw.byteSize()), raw);
    }

    private static Optional<MemorySegment> compress(MemorySegment raw) {
        if (raw.byteSize() < MIN_COMPRESSIBLE_BYTES) {
            return Optional.empty();
        }
        return ZstdCodec.compress(raw)
                .filter(compressed -> compressed.byteSize() <= raw.byteSize() / 10 * 9)
                .filter(compressed -> raw.byteSize() <= compressed.byteSize() * MAX_EXPANSION);
    }

    void writeTo(ByteBuffer out) {
        out.putShort((short) kind)
                .putShort((short) encoding)
                .putInt(checksum)
                .putLong(storedLength)
                .putLong(rawLength);
    }

    static EntrySection readFrom(ByteBuffer in) {
        return new EntrySection(
                in.getShort() & 0xffff,
                in.getShort() & 0xffff,
                in.getInt(),
                in.getLong(),
                in.getLong());
    }

    /** Returns true if kind, encoding and lengths can occur together. They are untrusted. */
    boolean isPlausible() {
        if (!isLength(storedLength)
                || !isLength(rawLength)
                || (kind == KEY && rawLength > Id.MAX_BYTES)
                || (kind == SIGNATURE && rawLength > MAX_SIGNATURE_BYTES)) {
            return false;
        }
        return switch (encoding) {
            case RAW -> rawLength == storedLength;
            case ZSTD ->
                kind != METADATA && kind != SIGNATURE && rawLength <= storedLength * MAX_EXPANSION;
            default -> false;
        };
    }

    private static boolean isLength(long length) {
        return length >= 0 && length <= EntryFormat.MAX_BYTES;
    }

    /**
     * Decodes a {@linkplain #isPlausible plausible} section to exactly {@link #rawLength} bytes.
     */
    Decoded decode(MemorySegment stored) {
        if (checksum(stored) != checksum) {
            return new Decoded.Bad(DamageKind.CORRUPT, "does not match its checksum");
        }
        return encoding == RAW ? new Decoded.Raw(stored) : ZstdCodec.decompress(stored, rawLength);
    }

    static int checksum(MemorySegment bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes.asByteBuffer());
        return (int) crc.getValue();
    }
}
