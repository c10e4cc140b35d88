package dev.granary.cache.format;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdException;
import dev.granary.cache.DamageKind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * Zstandard (RFC 8878) by zstd-jni. Apart from {@link EntrySection}, so that the native library is loaded when something is compressed, and not
 * when an entry is.
 */
final class ZstdCodec {
    private static final int LEVEL = 3;

    private ZstdCodec() {}

    /** One frame that tells its content's length; empty where this machine cannot load the library. */
    static Optional<MemorySegment> pack(MemorySegment raw) {
        try {
            return Optional.of(MemorySegment.ofArray(Zstd.compress(raw.toArray(ValueLayout.JAVA_BYTE), LEVEL)));
        } catch (LinkageError e) {
            return Optional.empty(); // no such platform, or no place to unpack the library: the entry is stored as it is
        }
    }

    /** Exactly {@code rawLength} bytes in native memory, or why not. */
    static EntrySection.Decoded unpack(MemorySegment stored, long rawLength) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment source = stored.isNative() ? stored : scratch.allocate(stored.byteSize()).copyFrom(stored);
            ByteBuffer packed = source.asByteBuffer();
            // The frame's own idea of its length must agree before anything of that length is allocated.
            long told = Zstd.getDirectByteBufferFrameContentSize(packed, 0, packed.capacity());
            if (told != rawLength) {
                return new EntrySection.Decoded.Bad(DamageKind.CORRUPT, "is packed from another length than the header tells");
            }
            MemorySegment raw = Arena.ofAuto().allocate(rawLength);
            long length = Zstd.decompressDirectByteBuffer(raw.asByteBuffer(), 0, (int) rawLength, packed, 0, packed.capacity());
            return length == rawLength
                    ? new EntrySection.Decoded.Raw(raw)
                    : new EntrySection.Decoded.Bad(DamageKind.CORRUPT, "unpacks to " + length + " bytes instead of " + rawLength);
        } catch (ZstdException e) {
            return new EntrySection.Decoded.Bad(DamageKind.CORRUPT, "does not unpack: " + e.getMessage());
        } catch (OutOfMemoryError e) {
            return new EntrySection.Decoded.Bad(DamageKind.TOO_LARGE, "needs " + rawLength + " bytes, more than this process has left");
        } catch (LinkageError e) {
            return new EntrySection.Decoded.Bad(DamageKind.TOO_NEW, "is packed with zstd, which cannot be loaded here: " + e.getMessage());
        }
    }
}
