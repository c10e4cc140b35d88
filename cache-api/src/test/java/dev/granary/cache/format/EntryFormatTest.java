package dev.granary.cache.format;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** Tests of encoding and decoding entries of all kinds. */
class EntryFormatTest {
    private final TestEntries entries = new TestEntries(getClass().getName());

    @ParameterizedTest
    @EnumSource
    @DisplayName("entries of all sizes are decoded, from heap and native memory, with and without a"
            + " known id")
    void roundTrip(Compression compression) {
        for (int size : new int[] {0, 1, 255, 256, 4096, 1_000_000}) {
            for (Entry entry : List.of(
                    entries.entry(size),
                    TestEntries.entry(
                            entries.id(),
                            KernelBinaries.of(
                                    TestEntries.compressible(size),
                                    new byte[0],
                                    entries.bytes(7),
                                    new byte[size])))) {
                byte[] stored = EntryFormat.encode(entry, compression, new UUID(1, 2));
                MemorySegment heap = MemorySegment.ofArray(stored);
                try (Arena arena = Arena.ofShared()) {
                    MemorySegment outside = arena.allocate(stored.length).copyFrom(heap);
                    for (MemorySegment segment :
                            List.of(heap, heap.asReadOnly(), outside, outside.asReadOnly())) {
                        for (VerificationLevel verification : VerificationLevel.values()) {
                            assertThat(EntryFormat.decode(segment, entry.id(), verification))
                                    .isHitOf(entry);
                            assertThat(EntryFormat.decode(segment, verification))
                                    .isHitOf(entry);
                        }
                    }
                    Entry read = assertThat(
                                    EntryFormat.decode(outside, VerificationLevel.CONTENT_HASH))
                            .isHit();
                    assertEquals(entry.metadata(), read.metadata());
                    assertEquals(entry.compileTime(), read.compileTime());
                    assertEquals(entry.contentHash(), read.contentHash());
                    assertEquals(TestEntries.TARGET, read.id().target());
                }
            }
        }
    }

    @Test
    @DisplayName("only compressible sections are compressed, and none without compression")
    void compression() {
        Entry good = TestEntries.entry(
                entries.id(), KernelBinaries.of(TestEntries.compressible(100_000)));
        assertTrue(EntryBytesEditor.of(good, Compression.ZSTD).length() < 20_000);
        assertTrue(EntryBytesEditor.of(good, Compression.NONE).length() > 100_000);
        Entry poor = entries.entry(100_000);
        assertEquals(
                EntryBytesEditor.of(poor, Compression.NONE).length(),
                EntryBytesEditor.of(poor, Compression.ZSTD).length());
        Entry small = TestEntries.entry(entries.id(), KernelBinaries.of(new byte[255]));
        assertEquals(
                EntryBytesEditor.of(small, Compression.NONE).length(),
                EntryBytesEditor.of(small, Compression.ZSTD).length());
    }

    @Test
    @DisplayName("content beyond the reader's compression ratio is stored uncompressed")
    void tooCompressible() {
        Entry zeros = TestEntries.entry(entries.id(), KernelBinaries.of(new byte[10_000_000]));
        assertTrue(EntryBytesEditor.of(zeros, Compression.ZSTD).length() > 10_000_000);
        assertThat(EntryBytesEditor.of(zeros, Compression.ZSTD).decode(zeros.id()))
                .isHitOf(zeros);
    }

    @Test
    @DisplayName("the greatest number of binaries is encoded, one more is rejected")
    void mostBinaries() {
        KernelBinaries most =
                KernelBinaries.of(Collections.nCopies(1021, new byte[] {1}).toArray(byte[][]::new));
        Entry entry = TestEntries.entry(entries.id(), most);
        assertThat(EntryBytesEditor.of(entry, Compression.NONE).decode(entry.id()))
                .isHitOf(entry);
        KernelBinaries more =
                KernelBinaries.of(Collections.nCopies(1022, new byte[] {1}).toArray(byte[][]::new));
        Entry tooMany = TestEntries.entry(entries.id(), more);
        assertTrue(assertThrows(
                        IllegalArgumentException.class,
                        () -> EntryBytesEditor.of(tooMany, Compression.NONE))
                .toString()
                .contains("1021"));
    }

    @Test
    @DisplayName("an entry above the limit is rejected before any allocation; nothing above the"
            + " limit is decoded")
    void tooLarge() {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment one = arena.allocate(1);
            MemorySegment huge = one.reinterpret(5L << 30); // never read: the test would crash
            Entry entry = TestEntries.entry(entries.id(), KernelBinaries.ofSegments(List.of(huge)));
            for (Compression compression : Compression.values()) {
                assertThrows(
                        IllegalArgumentException.class,
                        () -> EntryFormat.encode(entry, compression));
            }
            assertEquals(
                    DamageKind.TOO_LARGE,
                    EntryBytesEditor.damage(EntryFormat.decode(huge, VerificationLevel.CHECKSUMS)));
        }
    }

    @Test
    @DisplayName("invalid compile times are clamped")
    void compileTimes() {
        assertEquals(Duration.ZERO, compileTime(Duration.ofSeconds(-5)));
        assertEquals(Duration.ofNanos(1), compileTime(Duration.ofNanos(1)));
        assertEquals(
                Duration.ofNanos(Long.MAX_VALUE), compileTime(Duration.ofNanos(Long.MAX_VALUE)));
        assertEquals(
                Duration.ofNanos(Long.MAX_VALUE), compileTime(Duration.ofSeconds(Long.MAX_VALUE)));
    }

    private Duration compileTime(Duration given) {
        EntryMetadata metadata = new EntryMetadata("", "", Instant.EPOCH, List.of(), List.of(), "");
        Entry entry = Entry.of(entries.id(), KernelBinaries.of(new byte[1]), given, metadata);
        return assertThat(EntryBytesEditor.of(entry, Compression.NONE).decode(entry.id()))
                .isHit()
                .compileTime();
    }

    @Test
    @DisplayName("metadata of any text is decoded; an entry with undecodable metadata is usable and"
            + " can be stored again")
    void metadata() {
        EntryMetadata odd = new EntryMetadata(
                "ä€\uD83D\uDE80\0",
                "",
                Instant.ofEpochMilli(Long.MIN_VALUE),
                List.of("", "k"),
                List.of(),
                "x".repeat(70_000));
        Entry entry = Entry.of(entries.id(), KernelBinaries.of(new byte[1]), Duration.ZERO, odd);
        assertEquals(
                Optional.of(odd),
                assertThat(EntryBytesEditor.of(entry, Compression.ZSTD).decode(entry.id()))
                        .isHit()
                        .metadata());
        Entry unreadable = assertThat(EntryBytesEditor.of(entry, Compression.NONE)
                        .replace(1, new byte[] {1, 2, 3}, 3)
                        .decode(entry.id()))
                .isHit();
        assertEquals(Optional.empty(), unreadable.metadata());
        assertEquals(
                Optional.empty(),
                assertThat(EntryBytesEditor.of(unreadable, Compression.NONE).decode(entry.id()))
                        .isHit()
                        .metadata());
        String passedOn = new String(
                EntryFormat.encode(unreadable, Compression.NONE), StandardCharsets.ISO_8859_1);
        assertTrue(passedOn.contains("\1\2\3"), "another version's metadata is copied unchanged");
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("a signature survives decoding and encoding, and is not in the content hash")
    void signature(Compression compression) {
        Entry entry = TestEntries.entry(
                entries.id(), KernelBinaries.of(TestEntries.compressible(600), entries.bytes(40)));
        for (int length : new int[] {0, 1, 64, EntrySection.MAX_SIGNATURE_BYTES}) {
            byte[] signed = EntryBytesEditor.of(entry, compression)
                    .replace(2, entries.bytes(length), length)
                    .bytes();
            Entry read = assertThat(EntryFormat.decode(
                            MemorySegment.ofArray(signed), VerificationLevel.CONTENT_HASH))
                    .isHit();
            assertEquals(entry.contentHash(), read.contentHash());
            assertEquals(entry.metadata(), read.metadata());
            assertArrayEquals(signed, EntryFormat.encode(read, compression));
        }
    }

    @Test
    @DisplayName("the id of an attempt is in the header and not in the content hash")
    void putId() {
        Entry entry = entries.entry(100);
        byte[] marked = EntryFormat.encode(entry, Compression.NONE, new UUID(1, 2));
        ByteBuffer header = new EntryBytesEditor(marked).buffer().position(32);
        assertEquals(new UUID(1, 2), new UUID(header.getLong(), header.getLong()));
        assertEquals(
                entry.contentHash(),
                assertThat(EntryBytesEditor.decode(marked, entry.id())).isHit().contentHash());
    }

    @Test
    @DisplayName("a key of another schema is never a hit, and distinct from damage")
    void otherSchema() {
        Entry entry = entries.entry(10);
        byte[] key = entry.id().bytes();
        key[5]++;
        EntryBytesEditor other =
                EntryBytesEditor.of(entry, Compression.NONE).replace(0, key, key.length);
        assertEquals(DamageKind.WRONG_KEY, EntryBytesEditor.damage(other.decode(entry.id())));
        assertEquals(
                DamageKind.TOO_NEW,
                EntryBytesEditor.damage(EntryFormat.decode(
                        MemorySegment.ofArray(other.bytes()), VerificationLevel.CHECKSUMS)));
    }

    @Test
    @DisplayName("without the zstd library: raw entries work, compressed ones are a miss, no"
            + " exception")
    void withoutLibrary(@TempDir Path directory) throws Exception {
        List<String> lines = ChildJvm.of(NoZstdProcess.class)
                .flags("-DZstdNativePath=" + directory.resolve("missing.so"))
                .mergeErrors()
                .run()
                .lines();
        assertEquals(
                List.of("raw true", "zstd requested, stored raw true", "compressed TOO_NEW"),
                lines);
    }

    @Test
    @DisplayName("an id that differs only in its last byte is another key")
    void nearlyTheSameKey() {
        Id id = TestEntries.id("k1");
        Entry entry = entries.entry(id, 10);
        assertEquals(
                DamageKind.WRONG_KEY,
                EntryBytesEditor.damage(
                        EntryBytesEditor.of(entry, Compression.NONE).decode(TestEntries.id("k2"))));
        assertEquals(
                DamageKind.WRONG_KEY,
                EntryBytesEditor.damage(EntryBytesEditor.of(entry, Compression.NONE)
                        .decode(TestEntries.id("k12"))));
        assertFalse(
                EntryBytesEditor.of(entry, Compression.NONE).decode(Id.notCacheable("x"))
                        instanceof dev.granary.cache.LoadResult.Hit);
    }
}
