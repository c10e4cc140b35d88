package dev.granary.cache.format;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdException;

import dev.granary.cache.LoadResult.DamageKind;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * A Zstandard codec (RFC 8878) based on zstd-jni. A class of its own, so that the native library is
 * loaded only for compressed entries.
 */
final class ZstdCodec {
    private static final int LEVEL = 3;

    private ZstdCodec() {}

    /** Returns one frame with its content size, or empty if the library cannot compress here. */
    static Optional<MemorySegment> compress(MemorySegment raw) {
        try {
            return Optional.of(MemorySegment.ofArray(
                    Zstd.compress(raw.toArray(ValueLayout.JAVA_BYTE), LEVEL)));
        } catch (LinkageError | IllegalStateException | ZstdException e) {
            // unsupported platform, no space to extract the library, or no memory for its context
            return Optional.empty();
        }
    }

    /**
     * Decompresses to exactly {@code rawLength} bytes of native memory, or returns the reason why
     * not.
     */
    static EntrySection.Decoded decompress(MemorySegment stored, long rawLength) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment source = stored.isNative()
                    ? stored
                    : scratch.allocate(stored.byteSize()).copyFrom(stored);
            ByteBuffer compressed = source.asByteBuffer();
            // The frame's content size must match before that length is allocated.
            long contentSize =
                    Zstd.getDirectByteBufferFrameContentSize(compressed, 0, compressed.capacity());
            if (contentSize != rawLength) {
                return new EntrySection.Decoded.Bad(
                        DamageKind.CORRUPT, "has another uncompressed length than the header");
            }
            // an arena would clear it by a loop in Java, which is slow in a new process
            ByteBuffer raw = ByteBuffer.allocateDirect((int) rawLength);
            long length = Zstd.decompressDirectByteBuffer(
                    raw, 0, (int) rawLength, compressed, 0, compressed.capacity());
            return length == rawLength
                    ? new EntrySection.Decoded.Raw(MemorySegment.ofBuffer(raw))
                    : new EntrySection.Decoded.Bad(
                            DamageKind.CORRUPT,
                            "decompresses to " + length + " bytes instead of " + rawLength);
        } catch (ZstdException e) {
            return new EntrySection.Decoded.Bad(
                    DamageKind.CORRUPT, "cannot be decompressed: " + e.getMessage());
        } catch (OutOfMemoryError | IllegalStateException e) {
            // IllegalStateException: zstd-jni could not allocate its context
            return new EntrySection.Decoded.Bad(
                    DamageKind.TOO_LARGE,
                    "needs " + rawLength + " bytes, more than this process has left");
        } catch (LinkageError e) {
            return new EntrySection.Decoded.Bad(
                    DamageKind.TOO_NEW,
                    "is compressed with zstd, which cannot be loaded here: " + e.getMessage());
        }
    }
}
