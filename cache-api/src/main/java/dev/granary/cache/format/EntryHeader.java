package dev.granary.cache.format;

import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * The header and section table of an entry, big-endian.
 *
 * @param length the length of the whole entry in bytes
 * @param compileNanos the producer's compile time in nanoseconds
 * @param putId the id of the attempt that wrote the entry
 * @param contentHash the SHA-256 of id and binaries
 * @param sections the table: key, metadata, signature, then at least one binary
 */
record EntryHeader(
        long length,
        long compileNanos,
        UUID putId,
        Sha256 contentHash,
        List<EntrySection> sections) {
    /**
     * The first bytes of an entry. 0x89 reveals a stripped eighth bit; CR LF and SUB reveal a
     * text-mode transfer (as in PNG's signature, ISO/IEC 15948).
     */
    private static final byte[] MAGIC = {(byte) 0x89, 'G', 'R', 'A', 'N', '\r', '\n', 0x1a};

    static final long MAGIC_NUMBER = ByteBuffer.wrap(MAGIC).getLong();

    static final int FIXED_BYTES = 80;
    static final int LENGTH_OFFSET = 16;
    private static final int CHECKSUM_BYTES = 4;
    private static final int MIN_SECTIONS = 4;
    static final int MAX_SECTIONS = 1024;

    /** The outcome of reading a header. */
    sealed interface Read {
        /** A header with a matching checksum and with lengths that agree with the stored size. */
        record Ok(EntryHeader header) implements Read {}

        /** A damaged header, or one of another kind of object. */
        record Bad(DamageKind damage, String detail) implements Read {}
    }

    /** Returns the length of header, table and their checksum in bytes. */
    static long bytes(int sections) {
        return FIXED_BYTES + (long) sections * EntrySection.ROW_BYTES + CHECKSUM_BYTES;
    }

    void writeTo(ByteBuffer out) {
        int start = out.position();
        out.put(MAGIC).putShort((short) EntryFormat.VERSION).putShort((short) 0);
        out.putShort((short) sections.size())
                .putShort((short) 0)
                .putLong(length)
                .putLong(compileNanos);
        out.putLong(putId.getMostSignificantBits())
                .putLong(putId.getLeastSignificantBits())
                .put(contentHash.bytes());
        for (EntrySection section : sections) {
            section.writeTo(out);
        }
        ByteBuffer covered = out.duplicate().position(start).limit(out.position());
        out.putInt(EntrySection.checksum(MemorySegment.ofBuffer(covered)));
    }

    /**
     * Reads header and table, and verifies their checksum and the length of the entry. All versions
     * have the same layout here, so that a damaged version is not taken for another.
     */
    static Read read(MemorySegment stored) {
        if (stored.byteSize() > EntryFormat.MAX_BYTES) {
            return new Read.Bad(
                    DamageKind.TOO_LARGE,
                    stored.byteSize() + " bytes are more than an entry can have");
        }
        ByteBuffer in = stored.asByteBuffer();
        int known = Math.min(in.remaining(), MAGIC.length);
        if (!in.slice(0, known).equals(ByteBuffer.wrap(MAGIC, 0, known))) {
            return new Read.Bad(DamageKind.FOREIGN, "the first bytes are not those of an entry");
        }
        if (in.remaining() < FIXED_BYTES) {
            return truncated(in.remaining(), "the header");
        }
        in.position(MAGIC.length);
        int version = in.getShort() & 0xffff;
        int flags = in.getShort() & 0xffff;
        int count = in.getShort() & 0xffff;
        if (count > MAX_SECTIONS) {
            return new Read.Bad(DamageKind.CORRUPT, count + " sections");
        }
        if (stored.byteSize() < bytes(count)) {
            return truncated(stored.byteSize(), "the section table");
        }
        int covered = (int) bytes(count) - CHECKSUM_BYTES;
        if (EntrySection.checksum(stored.asSlice(0, covered)) != in.getInt(covered)) {
            return new Read.Bad(DamageKind.CORRUPT, "the header does not match its checksum");
        }
        if (version != EntryFormat.VERSION) {
            return new Read.Bad(
                    version < EntryFormat.VERSION ? DamageKind.TOO_OLD : DamageKind.TOO_NEW,
                    "format version " + version + "; this version reads " + EntryFormat.VERSION);
        }
        return flags == 0
                ? readTable(stored, in, count)
                : new Read.Bad(
                        DamageKind.TOO_NEW,
                        "flags 0x" + Integer.toHexString(flags)
                                + " are not supported by this version");
    }

    private static Read readTable(MemorySegment stored, ByteBuffer in, int count) {
        in.getShort(); // reserved
        long length = in.getLong();
        long compileNanos = in.getLong();
        UUID putId = new UUID(in.getLong(), in.getLong());
        byte[] hash = new byte[Sha256.BYTES];
        in.get(hash);
        List<EntrySection> sections = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            sections.add(EntrySection.readFrom(in));
        }
        if (stored.byteSize() < length) {
            return truncated(stored.byteSize(), length + " bytes");
        }
        if (stored.byteSize() > length) {
            return new Read.Bad(
                    DamageKind.EXTENDED, stored.byteSize() - length + " bytes too many");
        }
        EntryHeader header = new EntryHeader(
                length, compileNanos, putId, Sha256.ofDigest(hash), List.copyOf(sections));
        return header.isConsistent()
                ? new Read.Ok(header)
                : new Read.Bad(
                        DamageKind.CORRUPT,
                        "kinds, encodings or lengths of the sections are inconsistent");
    }

    private boolean isConsistent() {
        if (sections.size() < MIN_SECTIONS) {
            return false;
        }
        long stored = bytes(sections.size());
        long raw = 0;
        for (int i = 0; i < sections.size(); i++) {
            EntrySection section = sections.get(i);
            // the numbers of the kinds are in the order of the sections
            if (section.kind() != Math.min(EntrySection.KEY + i, EntrySection.BINARY)
                    || !section.isPlausible()) {
                return false;
            }
            // cannot overflow: at most 1,024 plausible lengths
            stored += section.storedLength();
            raw += section.rawLength();
        }
        return stored == length && raw <= EntryFormat.MAX_BYTES && compileNanos >= 0;
    }

    private static Read.Bad truncated(long actual, String expected) {
        return new Read.Bad(DamageKind.TRUNCATED, actual + " bytes, too few for " + expected);
    }
}
