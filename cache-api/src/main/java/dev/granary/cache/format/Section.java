package dev.granary.cache.format;

import com.github.luben.zstd.Zstd;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * One row of an entry's section table and, when writing, its bytes.
 *
 * @param kind one of {@link #KEY}, {@link #METADATA}, {@link #BINARY}
 * @param encoding one of {@link #RAW}, {@link #ZSTD}
 * @param checksum the CRC-32C of the stored bytes
 * @param storedLength length in the frame
 * @param rawLength length after decoding
 */
record Section(int kind, int encoding, int checksum, long storedLength, long rawLength) {
    static final int KEY = 1;
    static final int METADATA = 2;
    static final int BINARY = 3;

    static final int RAW = 0;
    static final int ZSTD = 1;

    /** Length of a row in bytes. */
    static final int ROW_BYTES = 24;

    private static final int LEVEL = 3;
    private static final int WORTH_TRYING_BYTES = 256;

    /** A section with the bytes to be written. */
    record Encoded(Section row, MemorySegment stored) {}

    static Encoded encode(int kind, MemorySegment raw, Compression compression) {
        if (compression == Compression.ZSTD && raw.byteSize() >= WORTH_TRYING_BYTES) {
            MemorySegment packed = MemorySegment.ofArray(Zstd.compress(raw.toArray(ValueLayout.JAVA_BYTE), LEVEL));
            if (packed.byteSize() <= raw.byteSize() / 10 * 9) {
                return new Encoded(new Section(kind, ZSTD, checksum(packed), packed.byteSize(), raw.byteSize()), packed);
            }
        }
        return new Encoded(new Section(kind, RAW, checksum(raw), raw.byteSize(), raw.byteSize()), raw);
    }

    void writeTo(ByteBuffer out) {
        out.putShort((short) kind).putShort((short) encoding).putInt(checksum).putLong(storedLength).putLong(rawLength);
    }

    static Section readFrom(ByteBuffer in) {
        return new Section(in.getShort() & 0xffff, in.getShort() & 0xffff, in.getInt(), in.getLong(), in.getLong());
    }

    boolean isSound(MemorySegment stored) {
        return checksum(stored) == checksum;
    }

    /** The raw bytes of a section whose checksum held, or null where they cannot be decoded to exactly {@link #rawLength}. */
    @Nullable MemorySegment decode(MemorySegment stored) {
        return switch (encoding) {
            case RAW -> rawLength == storedLength ? stored : null;
            case ZSTD -> unpack(stored);
            default -> null;
        };
    }

    private @Nullable MemorySegment unpack(MemorySegment stored) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment source = stored.isNative() ? stored : scratch.allocate(stored.byteSize()).copyFrom(stored);
            ByteBuffer packed = source.asByteBuffer();
            // The frame's own idea of its length must agree before anything of that length is allocated.
            if (Zstd.getDirectByteBufferFrameContentSize(packed, 0, packed.capacity()) != rawLength) {
                return null;
            }
            MemorySegment raw = Arena.ofAuto().allocate(rawLength);
            long length = Zstd.decompressDirectByteBuffer(raw.asByteBuffer(), 0, (int) rawLength, packed, 0, packed.capacity());
            return length == rawLength ? raw : null; // an error code is no length either
        }
    }

    static int checksum(MemorySegment bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes.asByteBuffer());
        return (int) crc.getValue();
    }
}
