package dev.granary.cache.format;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The encoder and the verifying decoder of entries. Stateless and thread-safe.
 *
 * <p>An entry consists of a fixed header, a table of sections (key, metadata, signature, binaries),
 * a checksum over both, and the sections back to back. The checksum over header and table covers
 * the checksum of every section, and thus the whole entry. No allocation depends on a length that
 * the checksum and the actual size have not confirmed. {@code docs/entry-format.md} describes the
 * layout byte by byte.
 */
public final class EntryFormat {
    /** The format version that this class writes, and the only one that it reads. */
    public static final int VERSION = 2;

    /** The greatest size of an entry in bytes, stored or decoded. */
    public static final long MAX_BYTES = 1L << 30;

    private static final int FIRST_BINARY = 3;
    private static final UUID NO_PUT_ID = new UUID(0, 0);

    private EntryFormat() {}

    /** Encodes an entry without the id of an attempt, for writers that do not compete. */
    public static byte[] encode(Entry entry, Compression compression) {
        return encode(entry, compression, NO_PUT_ID);
    }

    /**
     * Encodes an entry.
     *
     * @param putId a random id of this attempt to write: a writer that reads back its own has
     *     succeeded, although the response was lost
     * @throws IllegalArgumentException if the entry is larger than {@link #MAX_BYTES}, or has more
     *     than 1,021 binaries
     */
    public static byte[] encode(Entry entry, Compression compression, UUID putId) {
        List<MemorySegment> parts = encodeParts(entry, compression, putId);
        ByteBuffer out = ByteBuffer.allocate((int) length(parts));
        for (MemorySegment part : parts) {
            out.put(part.asByteBuffer());
        }
        return out.array();
    }

    /**
     * Encodes an entry as {@link #encode} does, as consecutive parts, for writers that do not need
     * it contiguous. Parts are views of the entry's own binaries if those are not compressed.
     *
     * @throws IllegalArgumentException as {@link #encode}
     */
    public static List<MemorySegment> encodeParts(Entry entry, Compression compression) {
        return encodeParts(entry, compression, NO_PUT_ID);
    }

    private static List<MemorySegment> encodeParts(
            Entry entry, Compression compression, UUID putId) {
        UnhashedSections unhashed = unhashed(entry);
        requireFits(entry, unhashed);
        List<EntrySection.Encoded> sections = new ArrayList<>();
        sections.add(EntrySection.encode(
                EntrySection.KEY, MemorySegment.ofArray(entry.id().bytes()), compression));
        sections.add(
                EntrySection.encode(EntrySection.METADATA, unhashed.metadata(), Compression.NONE));
        sections.add(EntrySection.encode(
                EntrySection.SIGNATURE, unhashed.signature(), Compression.NONE));
        for (MemorySegment binary : entry.binaries().segments()) {
            sections.add(EntrySection.encode(EntrySection.BINARY, binary, compression));
        }
        List<MemorySegment> stored =
                sections.stream().map(EntrySection.Encoded::stored).toList();
        List<MemorySegment> small = stored.subList(0, FIRST_BINARY);
        ByteBuffer first =
                ByteBuffer.allocate((int) (EntryHeader.bytes(sections.size()) + length(small)));
        List<MemorySegment> parts = new ArrayList<>(sections.size());
        parts.add(MemorySegment.ofArray(first.array()));
        parts.addAll(stored.subList(FIRST_BINARY, sections.size()));
        new EntryHeader(
                        length(parts),
                        compileNanos(entry),
                        putId,
                        entry.contentHash(),
                        sections.stream().map(EntrySection.Encoded::row).toList())
                .writeTo(first);
        small.forEach(section -> first.put(section.asByteBuffer()));
        return parts;
    }

    /** Returns the compile time as stored; clamped, since its clock may have been changed. */
    static long compileNanos(Entry entry) {
        return Math.max(0, TimeUnit.NANOSECONDS.convert(entry.compileTime()));
    }

    static UnhashedSections unhashed(Entry entry) {
        return entry.metadataSource() instanceof UnhashedSections stored
                ? stored
                : UnhashedSections.unsigned(entry.metadata());
    }

    static Entry signed(Entry entry, EntrySignature signature, @Nullable EntrySigner signer) {
        return Entry.ofStored(
                entry.id(),
                entry.binaries(),
                entry.compileTime(),
                entry.contentHash(),
                new UnhashedSections(
                        unhashed(entry).metadata(), signature.encoded(), false, signer));
    }

    /** Returns an encoded entry with another signature; all else is copied. */
    public static byte[] withSignature(byte[] stored, EntrySignature signature) {
        if (!(EntryHeader.read(MemorySegment.ofArray(stored))
                instanceof EntryHeader.Read.Ok(EntryHeader header))) {
            throw new IllegalArgumentException("Not an entry");
        }
        EntrySection.Encoded section =
                EntrySection.encode(EntrySection.SIGNATURE, signature.encoded(), Compression.NONE);
        List<EntrySection> rows = new ArrayList<>(header.sections());
        EntrySection replaced = rows.set(FIRST_BINARY - 1, section.row());
        int length = stored.length + (int) (section.row().storedLength() - replaced.storedLength());
        ByteBuffer out = ByteBuffer.allocate(length);
        new EntryHeader(length, header.compileNanos(), header.putId(), header.contentHash(), rows)
                .writeTo(out);
        int start = out.position();
        int small = (int) (rows.get(0).storedLength() + rows.get(1).storedLength());
        int rest = start + small + (int) replaced.storedLength();
        out.put(stored, start, small).put(section.stored().asByteBuffer());
        return out.put(stored, rest, stored.length - rest).array();
    }

    private static long length(List<MemorySegment> parts) {
        return parts.stream().mapToLong(MemorySegment::byteSize).sum();
    }

    /**
     * Checks the raw lengths against the limits of the reader, so that the encoded entry is
     * readable.
     */
    private static void requireFits(Entry entry, UnhashedSections unhashed) {
        int sections = FIRST_BINARY + entry.binaries().segments().size();
        if (sections > EntryHeader.MAX_SECTIONS) {
            throw new IllegalArgumentException(
                    "An entry has at most " + (EntryHeader.MAX_SECTIONS - FIRST_BINARY)
                            + " binaries, not " + entry.binaries().segments().size());
        }
        long length = EntryHeader.bytes(sections)
                + entry.id().length()
                + unhashed.metadata().byteSize()
                + unhashed.signature().byteSize()
                + entry.binaries().byteSize();
        if (length > MAX_BYTES) {
            throw new IllegalArgumentException(
                    "An entry of " + length + " bytes is larger than " + MAX_BYTES);
        }
    }

    /**
     * Decodes and verifies an entry stored under {@code expected}, or under any id if that is null.
     *
     * <p>Uncompressed binaries, metadata and signature of a hit are views of {@code stored}. The
     * segment must not change afterwards and must stay accessible to all threads that use the
     * entry.
     *
     * @return {@link LoadResult.Hit} or {@link LoadResult.Damaged}, nothing else
     */
    public static LoadResult decode(
            MemorySegment stored, @Nullable Id expected, VerificationLevel verification) {
        EntryHeader.Read read = EntryHeader.read(stored);
        if (read instanceof EntryHeader.Read.Bad bad) {
            return new LoadResult.Damaged(bad.damage(), bad.detail());
        }
        EntryHeader header = ((EntryHeader.Read.Ok) read).header();
        Id id = expected;
        MemorySegment metadata = MemorySegment.NULL;
        MemorySegment signature = MemorySegment.NULL;
        List<MemorySegment> binaries = new ArrayList<>(header.sections().size());
        long offset = EntryHeader.bytes(header.sections().size());
        for (EntrySection section : header.sections()) {
            EntrySection.Decoded decoded =
                    section.decode(stored.asSlice(offset, section.storedLength()));
            if (decoded instanceof EntrySection.Decoded.Bad bad) {
                return new LoadResult.Damaged(
                        bad.damage(), "the section at byte " + offset + " " + bad.detail());
            }
            MemorySegment raw = ((EntrySection.Decoded.Raw) decoded).bytes();
            offset += section.storedLength();
            switch (section.kind()) {
                case EntrySection.KEY -> {
                    if (expected == null) {
                        id = Id.parse(raw.toArray(ValueLayout.JAVA_BYTE)).orElse(null);
                    } else if (!expected.matches(raw.asByteBuffer())) {
                        return new LoadResult.Damaged(
                                DamageKind.WRONG_KEY, "a sound entry, but of another id");
                    }
                }
                case EntrySection.METADATA -> metadata = raw;
                case EntrySection.SIGNATURE -> signature = raw;
                default -> binaries.add(raw);
            }
        }
        if (id == null) {
            return new LoadResult.Damaged(
                    DamageKind.TOO_NEW,
                    "the schema of the key is newer than this version supports");
        }
        KernelBinaries verified = KernelBinaries.ofSegments(binaries);
        boolean isHashed = verification == VerificationLevel.CONTENT_HASH;
        if (isHashed && !Entry.contentHash(id, verified).equals(header.contentHash())) {
            return new LoadResult.Damaged(
                    DamageKind.CORRUPT, "the content does not match its SHA-256");
        }
        return new LoadResult.Hit(Entry.ofStored(
                id,
                verified,
                Duration.ofNanos(header.compileNanos()),
                header.contentHash(),
                new UnhashedSections(metadata, signature, isHashed, null)));
    }

    /** Decodes and verifies an entry whose id is not known, otherwise like {@link #decode}. */
    public static LoadResult decode(MemorySegment stored, VerificationLevel verification) {
        return decode(stored, null, verification);
    }

    /**
     * Returns the unverified length in the header at {@code offset} of a big-endian buffer, or -1
     * if there is no header. For readers that know the start of an entry but not its end.
     */
    public static long statedLength(ByteBuffer stored, int offset) {
        return offset > stored.limit() - EntryHeader.FIXED_BYTES
                        || stored.getLong(offset) != EntryHeader.MAGIC_NUMBER
                ? -1
                : stored.getLong(offset + EntryHeader.LENGTH_OFFSET);
    }

    /**
     * The sections that the content hash does not cover. An entry that is encoded again keeps their
     * stored bytes; metadata is decoded on access.
     *
     * @param isHashed whether the content was compared with the hash in the header
     * @param signer the signer that made the signature in this process
     */
    record UnhashedSections(
            MemorySegment metadata,
            MemorySegment signature,
            boolean isHashed,
            @Nullable EntrySigner signer)
            implements Supplier<Optional<EntryMetadata>> {
        static UnhashedSections unsigned(Optional<EntryMetadata> metadata) {
            byte[] encoded = metadata.map(MetadataCodec::encode).orElseGet(() -> new byte[0]);
            return new UnhashedSections(
                    MemorySegment.ofArray(encoded), MemorySegment.NULL, false, null);
        }

        @Override
        public Optional<EntryMetadata> get() {
            return MetadataCodec.decode(metadata.toArray(ValueLayout.JAVA_BYTE));
        }
    }

    /** The compression of an entry's sections. */
    public enum Compression {
        /** No compression: for local disks, where decompressing costs more than reading. */
        NONE,
        /**
         * Zstandard (RFC 8878), level 3, for each section that shrinks by at least 10 %: for
         * buckets.
         */
        ZSTD
    }

    /** The extent of verification beyond header, lengths and key. */
    public enum VerificationLevel {
        /**
         * The CRC-32C of every section: for entries verified in full when they arrived on this
         * machine.
         */
        CHECKSUMS,
        /** The checksums and the SHA-256 of the content: for entries from another machine. */
        CONTENT_HASH
    }
}
