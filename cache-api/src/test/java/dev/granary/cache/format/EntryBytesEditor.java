package dev.granary.cache.format;

import static dev.granary.testing.CacheAssertions.assertThat;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntryFormat.VerificationLevel;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.zip.CRC32C;

/**
 * An editor of an encoded entry for attacks: it changes bytes at offsets of the layout and corrects
 * the checksums.
 */
final class EntryBytesEditor {
    static final int VERSION = 8;
    static final int FLAGS = 10;
    static final int COUNT = 12;
    static final int RESERVED = 14;
    static final int LENGTH = 16;
    static final int COMPILE_NANOS = 24;
    static final int CONTENT_HASH = 48;
    static final int TABLE = 80;
    static final int ROW = 24;
    static final int ROW_KIND = 0;
    static final int ROW_ENCODING = 2;
    static final int ROW_CHECKSUM = 4;
    static final int ROW_STORED = 8;
    static final int ROW_RAW = 16;

    private byte[] bytes;

    EntryBytesEditor(byte[] bytes) {
        this.bytes = bytes.clone();
    }

    static EntryBytesEditor of(Entry entry, Compression compression) {
        return new EntryBytesEditor(EntryFormat.encode(entry, compression));
    }

    static int row(int section, int field) {
        return TABLE + section * ROW + field;
    }

    byte[] bytes() {
        return bytes.clone();
    }

    int length() {
        return bytes.length;
    }

    int sections() {
        return buffer().getShort(COUNT) & 0xffff;
    }

    ByteBuffer buffer() {
        return ByteBuffer.wrap(bytes);
    }

    EntryBytesEditor putShort(int at, int value) {
        buffer().putShort(at, (short) value);
        return this;
    }

    EntryBytesEditor putLong(int at, long value) {
        buffer().putLong(at, value);
        return this;
    }

    /** Returns the offset of a section's bytes. */
    int start(int section) {
        long start = TABLE + (long) sections() * ROW + 4;
        for (int i = 0; i < section; i++) {
            start += buffer().getLong(row(i, ROW_STORED));
        }
        return Math.toIntExact(start);
    }

    /** Replaces a section's stored bytes and corrects length, row and all checksums. */
    EntryBytesEditor replace(int section, byte[] stored, long rawLength) {
        int start = start(section);
        int end = Math.toIntExact(start + buffer().getLong(row(section, ROW_STORED)));
        byte[] changed = Arrays.copyOf(bytes, start + stored.length + bytes.length - end);
        System.arraycopy(stored, 0, changed, start, stored.length);
        System.arraycopy(bytes, end, changed, start + stored.length, bytes.length - end);
        bytes = changed;
        CRC32C crc = new CRC32C();
        crc.update(stored);
        buffer().putInt(row(section, ROW_CHECKSUM), (int) crc.getValue());
        return putLong(row(section, ROW_STORED), stored.length)
                .putLong(row(section, ROW_RAW), rawLength)
                .putLong(LENGTH, bytes.length)
                .resealed();
    }

    /** Corrects the header's checksum. */
    EntryBytesEditor resealed() {
        int covered = TABLE + sections() * ROW;
        if (covered + 4 <= bytes.length) {
            CRC32C crc = new CRC32C();
            crc.update(bytes, 0, covered);
            buffer().putInt(covered, (int) crc.getValue());
        }
        return this;
    }

    LoadResult decode(Id expected) {
        return decode(bytes, expected);
    }

    static LoadResult decode(byte[] stored, Id expected) {
        return EntryFormat.decode(
                MemorySegment.ofArray(stored), expected, VerificationLevel.CHECKSUMS);
    }

    static DamageKind damage(LoadResult result) {
        return assertThat(result).isDamaged().damage();
    }
}
