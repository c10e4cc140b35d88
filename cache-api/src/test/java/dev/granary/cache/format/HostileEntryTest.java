package dev.granary.cache.format;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** Tests of entries crafted by an attacker, with matching checksums. */
class HostileEntryTest {
    private static final long[] HOSTILE = {
        -1,
        Long.MIN_VALUE,
        Long.MAX_VALUE,
        Long.MAX_VALUE - 400,
        1L << 62,
        1L << 32,
        1L << 31,
        Integer.MAX_VALUE,
        EntryFormat.MAX_BYTES,
        EntryFormat.MAX_BYTES + 1,
        0,
        1,
        79,
        80,
        1L << 48
    };

    private final TestEntries entries = new TestEntries(getClass().getName());
    private final byte[] raw = TestEntries.compressible(600);
    private final Entry entry =
            TestEntries.entry(entries.id(), KernelBinaries.of(raw, entries.bytes(40)));

    private void assertDamage(DamageKind expected, EntryBytesEditor frame) {
        assertEquals(expected, EntryBytesEditor.damage(frame.decode(entry.id())));
        for (VerificationLevel verification : VerificationLevel.values()) {
            EntryBytesEditor.damage(
                    EntryFormat.decode(MemorySegment.ofArray(frame.bytes()), verification));
        }
    }

    private EntryBytesEditor frame() {
        return EntryBytesEditor.of(entry, Compression.NONE);
    }

    @Test
    @DisplayName("hostile lengths in every row, with matching checksums, are CORRUPT and not"
            + " allocated")
    void rows() {
        for (Compression compression : Compression.values()) {
            EntryBytesEditor good = EntryBytesEditor.of(entry, compression);
            for (int section = 0; section < good.sections(); section++) {
                for (int field :
                        new int[] {EntryBytesEditor.ROW_STORED, EntryBytesEditor.ROW_RAW}) {
                    long before = good.buffer().getLong(EntryBytesEditor.row(section, field));
                    for (long length : HOSTILE) {
                        if (length != before) {
                            assertDamage(
                                    DamageKind.CORRUPT,
                                    new EntryBytesEditor(good.bytes())
                                            .putLong(EntryBytesEditor.row(section, field), length)
                                            .resealed());
                        }
                    }
                }
            }
        }
    }

    @Test
    @DisplayName("lengths whose sum overflows to the right one are CORRUPT")
    void overflow() {
        long first = frame().buffer().getLong(EntryBytesEditor.row(3, EntryBytesEditor.ROW_STORED));
        long second =
                frame().buffer().getLong(EntryBytesEditor.row(4, EntryBytesEditor.ROW_STORED));
        for (long shift : new long[] {Long.MIN_VALUE, 1L << 62, 1L << 32, 100, -100, first + 1}) {
            EntryBytesEditor frame = frame();
            for (int field : new int[] {EntryBytesEditor.ROW_STORED, EntryBytesEditor.ROW_RAW}) {
                frame.putLong(EntryBytesEditor.row(3, field), first + shift)
                        .putLong(EntryBytesEditor.row(4, field), second - shift);
            }
            assertDamage(DamageKind.CORRUPT, frame.resealed());
        }
    }

    @Test
    @DisplayName("hostile total lengths: TRUNCATED above the size, EXTENDED below it")
    void total() {
        for (long length : HOSTILE) {
            assertDamage(
                    length > frame().length() ? DamageKind.TRUNCATED : DamageKind.EXTENDED,
                    frame().putLong(EntryBytesEditor.LENGTH, length).resealed());
        }
    }

    @Test
    @DisplayName("section counts of 0, 3 and too many are CORRUPT, or TRUNCATED if the table does"
            + " not fit")
    void counts() {
        for (int count : new int[] {0, 1, 2, 3, 1025, 0x7fff, 0x8000, 0xffff}) {
            assertDamage(
                    DamageKind.CORRUPT,
                    frame().putShort(EntryBytesEditor.COUNT, count).resealed());
        }
        assertDamage(
                DamageKind.CORRUPT, frame().putShort(EntryBytesEditor.COUNT, 4).resealed());
        assertDamage(
                DamageKind.CORRUPT, frame().putShort(EntryBytesEditor.COUNT, 6).resealed());
        assertDamage(
                DamageKind.TRUNCATED,
                frame().putShort(EntryBytesEditor.COUNT, 1024).resealed());
    }

    @Test
    @DisplayName("unknown or misplaced kinds, unknown encodings and a negative compile time are"
            + " CORRUPT")
    void kinds() {
        for (int section = 0; section < frame().sections(); section++) {
            for (int kind : new int[] {0, 1, 2, 3, 4, 5, 0xffff}) {
                if (kind != Math.min(section + 1, EntrySection.BINARY)) {
                    assertDamage(
                            DamageKind.CORRUPT,
                            frame().putShort(
                                            EntryBytesEditor.row(
                                                    section, EntryBytesEditor.ROW_KIND),
                                            kind)
                                    .resealed());
                }
            }
        }
        for (int encoding : new int[] {2, 0x8000, 0xffff}) {
            assertDamage(
                    DamageKind.CORRUPT,
                    frame().putShort(
                                    EntryBytesEditor.row(3, EntryBytesEditor.ROW_ENCODING),
                                    encoding)
                            .resealed());
        }
        assertDamage(
                DamageKind.CORRUPT,
                frame().putLong(EntryBytesEditor.COMPILE_NANOS, -1).resealed());
    }

    @Test
    @DisplayName("raw bytes declared as zstd, and zstd as raw, are CORRUPT")
    void encodings() {
        assertDamage(
                DamageKind.CORRUPT,
                frame().putShort(
                                EntryBytesEditor.row(3, EntryBytesEditor.ROW_ENCODING),
                                EntrySection.ZSTD)
                        .resealed());
        EntryBytesEditor packed = EntryBytesEditor.of(entry, Compression.ZSTD);
        assertEquals(
                EntrySection.ZSTD,
                packed.buffer().getShort(EntryBytesEditor.row(3, EntryBytesEditor.ROW_ENCODING)));
        assertDamage(
                DamageKind.CORRUPT,
                packed.putShort(
                                EntryBytesEditor.row(3, EntryBytesEditor.ROW_ENCODING),
                                EntrySection.RAW)
                        .resealed());
    }

    private EntryBytesEditor packed(byte[] zstd, long rawLength) {
        return frame().replace(3, zstd, rawLength)
                .putShort(EntryBytesEditor.row(3, EntryBytesEditor.ROW_ENCODING), EntrySection.ZSTD)
                .resealed();
    }

    @Test
    @DisplayName(
            "a frame with another content size than the header is rejected before decompression")
    void otherLength() {
        byte[] zstd = Zstd.compress(raw, 3);
        assertThat(packed(zstd, raw.length).decode(entry.id())).isHitOf(entry);
        for (long declared :
                new long[] {0, 1, raw.length - 1, raw.length + 1, zstd.length, 10_000}) {
            assertDamage(DamageKind.CORRUPT, packed(zstd, declared));
        }
    }

    @Test
    @DisplayName(
            "a decompression bomb with its true size, 1 GiB from 32 KiB, is rejected before any"
                    + " allocation")
    void bomb() {
        byte[] small = Zstd.compress(new byte[1 << 20], 3);
        assertDamage(DamageKind.CORRUPT, packed(small, 1 << 20));
        byte[] head = {0x28, (byte) 0xb5, 0x2f, (byte) 0xfd, (byte) 0xa0, 0, 0, 0, 0x40};
        assertEquals(1 << 30, Zstd.getFrameContentSize(head));
        assertDamage(DamageKind.CORRUPT, packed(Arrays.copyOf(head, 40_000), 1L << 30));
    }

    @Test
    @DisplayName("a frame with more, less, no or invalid content is CORRUPT without an exception")
    void lyingFrames() {
        byte[] zstd = Zstd.compress(raw, 3);
        assertEquals(raw.length, Zstd.getFrameContentSize(zstd));
        for (int at = 0; at < zstd.length; at++) {
            for (int value : new int[] {0, 0xff, zstd[at] ^ 1, zstd[at] ^ 0x40}) {
                byte[] bad = zstd.clone();
                bad[at] = (byte) value;
                noOtherContent(packed(bad, raw.length));
                noOtherContent(packed(Arrays.copyOf(zstd, at), raw.length));
            }
        }
        assertDamage(DamageKind.CORRUPT, packed(new byte[0], raw.length));
        assertDamage(DamageKind.CORRUPT, packed(new byte[0], 0));
        assertDamage(DamageKind.CORRUPT, packed(Arrays.copyOf(zstd, zstd.length + 3), raw.length));
    }

    /**
     * Checks that no other content is returned. The checksum matches, so only the content hash can
     * detect a change.
     */
    private void noOtherContent(EntryBytesEditor frame) {
        if (EntryFormat.decode(
                        MemorySegment.ofArray(frame.bytes()),
                        entry.id(),
                        VerificationLevel.CONTENT_HASH)
                instanceof LoadResult.Hit hit) {
            assertEquals(entry.binaries(), hit.entry().binaries());
        }
    }

    @Test
    @DisplayName(
            "frames without a content size, consecutive frames and skippable frames never yield"
                    + " other content")
    void oddFrames() {
        try (ZstdCompressCtx context = new ZstdCompressCtx().setContentSize(false)) {
            assertDamage(DamageKind.CORRUPT, packed(context.compress(raw), raw.length));
        }
        byte[] whole = Zstd.compress(raw, 3);
        byte[] first = Zstd.compress(Arrays.copyOf(raw, 300), 3);
        byte[] second = Zstd.compress(Arrays.copyOfRange(raw, 300, raw.length), 3);
        assertDamage(DamageKind.CORRUPT, packed(joined(first, second), raw.length));
        assertDamage(DamageKind.CORRUPT, packed(joined(first, second), 300));
        assertDamage(DamageKind.CORRUPT, packed(joined(whole, whole), raw.length));
        byte[] skippable = {0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7};
        noOtherContent(packed(joined(skippable, whole), raw.length));
        noOtherContent(packed(joined(whole, skippable), raw.length));
        assertDamage(DamageKind.CORRUPT, packed(skippable, 0x1000));
    }

    private static byte[] joined(byte[] first, byte[] second) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(first);
        out.writeBytes(second);
        return out.toByteArray();
    }

    @Test
    @DisplayName("a sound entry that needs more memory than the process has left is TOO_LARGE,"
            + " and smaller ones are read")
    void littleMemory() throws Exception {
        ChildJvm.Result result = ChildJvm.of(LittleMemory.class)
                .shortLived()
                .flags("-XX:MaxDirectMemorySize=8m")
                .run();
        assertTrue(result.output().contains("all as expected"), result::toString);
    }

    /** Reads an entry that does not fit into the memory of its process. */
    static final class LittleMemory {
        private LittleMemory() {}

        public static void main(String[] none) {
            TestEntries entries = new TestEntries(LittleMemory.class.getName());
            byte[] binary = Arrays.copyOf(entries.bytes(1 << 20), 16 << 20);
            Entry large = TestEntries.entry(entries.id(), KernelBinaries.of(binary));
            EntryBytesEditor packed = EntryBytesEditor.of(large, Compression.ZSTD);
            assertTrue(packed.length() < 2 << 20, "compressed");
            assertThat(packed.decode(large.id())).isDamaged(DamageKind.TOO_LARGE);
            Entry small = TestEntries.entry(entries.id(), KernelBinaries.of(new byte[100_000]));
            assertThat(EntryBytesEditor.of(small, Compression.ZSTD).decode(small.id()))
                    .isHitOf(small);
            System.out.println("all as expected");
        }
    }

    @Test
    @DisplayName("compressed metadata, a compressed or too long signature and a key longer than any"
            + " id are rejected by the header")
    void otherSections() {
        byte[] zstd = Zstd.compress(raw, 3);
        for (int section : new int[] {1, 2}) {
            assertDamage(
                    DamageKind.CORRUPT,
                    frame().replace(section, zstd, raw.length)
                            .putShort(
                                    EntryBytesEditor.row(section, EntryBytesEditor.ROW_ENCODING),
                                    EntrySection.ZSTD)
                            .resealed());
        }
        int most = EntrySection.MAX_SIGNATURE_BYTES;
        assertThat(frame().replace(2, new byte[most], most).decode(entry.id())).isHitOf(entry);
        assertDamage(DamageKind.CORRUPT, frame().replace(2, new byte[most + 1], most + 1));
        byte[] key = new byte[100_000];
        EntryBytesEditor frame = frame().replace(0, key, Id.MAX_BYTES + 1L)
                .putShort(
                        EntryBytesEditor.row(0, EntryBytesEditor.ROW_ENCODING), EntrySection.ZSTD);
        assertDamage(DamageKind.CORRUPT, frame.resealed());
    }

    @Test
    @DisplayName("a key that is not an id, with matching checksums, is never a hit")
    void otherKeys() {
        for (byte[] key : new byte[][] {
            new byte[0],
            new byte[1],
            new byte[1000],
            Arrays.copyOf(entry.id().bytes(), entry.id().length() - 1)
        }) {
            EntryBytesEditor frame = frame().replace(0, key, key.length);
            assertEquals(DamageKind.WRONG_KEY, EntryBytesEditor.damage(frame.decode(entry.id())));
            assertEquals(
                    DamageKind.TOO_NEW,
                    EntryBytesEditor.damage(EntryFormat.decode(
                            MemorySegment.ofArray(frame.bytes()), VerificationLevel.CHECKSUMS)));
        }
    }
}
