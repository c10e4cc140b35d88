package dev.granary.cache.format;

import dev.granary.cache.Damage;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Writes entries as bytes, and reads and verifies them. Stateless, thread-safe.
 *
 * <p>A fixed header, a table of sections (key, metadata, binaries), a checksum over both, then the sections back to back. The checksum over
 * header and table covers the checksum of every section, and so all of the entry. Nothing is allocated from a length that the
 * checksum and the actual size have not confirmed. {@code docs/entry-format.md} has the layout byte by byte.
 */
public final class EntryFormat {
    /** The format version that this class writes, and the only one so far. */
    public static final int VERSION = 1;

    /** No entry is larger, in bytes, stored or decoded. */
    public static final long MAX_BYTES = 1L << 30;

    private EntryFormat() {}

    /**
     * The entry as bytes.
     *
     * @param entry what to write
     * @param compression whether sections may be compressed
     * @param putId the mark of this attempt
     * @throws IllegalArgumentException if the entry is larger than {@link #MAX_BYTES}
     */
    public static byte[] encode(Entry entry, Compression compression, PutId putId) {
        List<Section.Encoded> sections = new ArrayList<>();
        sections.add(Section.encode(Section.KEY, MemorySegment.ofArray(entry.id().bytes()), compression));
        byte[] metadata = entry.metadata().map(MetadataCodec::encode).orElseGet(() -> new byte[0]);
        sections.add(Section.encode(Section.METADATA, MemorySegment.ofArray(metadata), Compression.NONE));
        for (MemorySegment binary : entry.binaries().segments()) {
            sections.add(Section.encode(Section.BINARY, binary, compression));
        }
        long length = Header.bytes(sections.size());
        for (Section.Encoded section : sections) {
            length += section.stored().byteSize();
        }
        if (length > MAX_BYTES || entry.binaries().byteSize() > MAX_BYTES) {
            throw new IllegalArgumentException("An entry of " + length + " bytes is larger than " + MAX_BYTES);
        }
        Header header = new Header(length, entry.compileTime().toNanos(), putId, entry.contentHash(),
                sections.stream().map(Section.Encoded::row).toList());
        ByteBuffer out = ByteBuffer.allocate((int) length);
        header.writeTo(out);
        for (Section.Encoded section : sections) {
            out.put(section.stored().asByteBuffer());
        }
        return out.array();
    }

    /**
     * Reads and verifies an entry that was stored under {@code expected}.
     *
     * <p>The binaries of a hit are views of {@code stored} where they were not compressed: the segment must not change afterwards.
     *
     * @return {@link LoadResult.Hit} or {@link LoadResult.Damaged}, nothing else
     */
    public static LoadResult decode(MemorySegment stored, Id expected, Verification verification) {
        return decodeAny(stored, expected, verification);
    }

    /** Reads and verifies an entry without knowing its id beforehand; else like {@link #decode}. */
    public static LoadResult decode(MemorySegment stored, Verification verification) {
        return decodeAny(stored, null, verification);
    }

    private static LoadResult decodeAny(MemorySegment stored, @Nullable Id expected, Verification verification) {
        return switch (Header.read(stored)) {
            case Header.Read.Bad bad -> new LoadResult.Damaged(bad.damage(), bad.detail());
            case Header.Read.Ok ok -> decodeSections(stored, ok.header(), expected, verification);
        };
    }

    private static LoadResult decodeSections(MemorySegment stored, Header header, @Nullable Id expected, Verification verification) {
        Id id = expected;
        MemorySegment metadata = MemorySegment.NULL;
        List<MemorySegment> binaries = new ArrayList<>(header.sections().size());
        long offset = Header.bytes(header.sections().size());
        for (int i = 0; i < header.sections().size(); i++) {
            Section section = header.sections().get(i);
            MemorySegment bytes = stored.asSlice(offset, section.storedLength());
            offset += section.storedLength();
            MemorySegment raw = section.isSound(bytes) ? section.decode(bytes) : null;
            if (raw == null) {
                return corrupt("section " + i + " of " + header.sections().size() + " does not match its checksum or length");
            }
            switch (section.kind()) {
                case Section.KEY -> {
                    if (expected != null) {
                        if (!expected.matches(raw.asByteBuffer())) {
                            return new LoadResult.Damaged(Damage.WRONG_KEY, "a sound entry, but of another id");
                        }
                    } else {
                        id = Id.parse(raw.toArray(ValueLayout.JAVA_BYTE)).orElse(null);
                    }
                }
                case Section.METADATA -> metadata = raw;
                default -> binaries.add(raw);
            }
        }
        if (id == null) {
            return new LoadResult.Damaged(Damage.TOO_NEW, "the key is of a schema that this version does not know");
        }
        KernelBinaries verified = KernelBinaries.ofSegments(binaries);
        if (verification == Verification.CONTENT_HASH && !Entry.contentHash(id, verified).equals(header.contentHash())) {
            return corrupt("the content does not match its SHA-256");
        }
        return new LoadResult.Hit(
                Entry.ofStored(id, verified, Duration.ofNanos(header.compileNanos()), header.contentHash(), decoder(metadata)));
    }

    private static Supplier<Optional<EntryMetadata>> decoder(MemorySegment metadata) {
        return () -> MetadataCodec.decode(metadata.toArray(ValueLayout.JAVA_BYTE));
    }

    private static LoadResult.Damaged corrupt(String detail) {
        return new LoadResult.Damaged(Damage.CORRUPT, detail);
    }
}
