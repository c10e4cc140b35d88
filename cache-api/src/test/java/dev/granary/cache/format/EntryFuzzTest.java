package dev.granary.cache.format;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.cache.fuzz.Fuzzer;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.zip.CRC32C;

/** Fuzz tests of entries, metadata and keys, mutated with matching checksums. */
class EntryFuzzTest {
    private final TestEntries entries = new TestEntries(getClass().getName());
    private final Entry small = entries.entry(10);
    private final Entry two = TestEntries.entry(
            entries.id(), KernelBinaries.of(TestEntries.compressible(600), entries.bytes(40)));

    /** Corrects the checksums of header and sections, as far as those are present. */
    private static byte[] repaired(byte[] bytes) {
        if (bytes.length < EntryBytesEditor.TABLE) {
            return bytes;
        }
        ByteBuffer in = ByteBuffer.wrap(bytes);
        int sections = in.getShort(EntryBytesEditor.COUNT) & 0xffff;
        long at = EntryHeader.bytes(sections);
        if (at > bytes.length) {
            return bytes;
        }
        if ((bytes[bytes.length - 1] & 3) != 0) {
            in.putLong(EntryBytesEditor.LENGTH, bytes.length);
        }
        for (int i = 0; i < sections; i++) {
            long length = in.getLong(EntryBytesEditor.row(i, EntryBytesEditor.ROW_STORED));
            if (length < 0 || length > bytes.length - at) {
                break;
            }
            CRC32C crc = new CRC32C();
            crc.update(bytes, (int) at, (int) length);
            in.putInt(EntryBytesEditor.row(i, EntryBytesEditor.ROW_CHECKSUM), (int) crc.getValue());
            at += length;
        }
        CRC32C crc = new CRC32C();
        int covered = (int) EntryHeader.bytes(sections) - Integer.BYTES;
        crc.update(bytes, 0, covered);
        in.putInt(covered, (int) crc.getValue());
        return bytes;
    }

    private static FuzzTarget metadataTarget() {
        EntryMetadata metadata = new EntryMetadata(
                "1.0",
                "host:1",
                Instant.EPOCH,
                List.of("k1", "k2"),
                List.of("64x1x1"),
                "gemm 4096");
        EntryMetadata empty = new EntryMetadata("", "", Instant.EPOCH, List.of(), List.of(), "");
        List<byte[]> seeds = List.of(
                MetadataCodec.encode(metadata),
                MetadataCodec.encode(empty),
                HexFormat.of().parseHex("03c0d28747"),
                HexFormat.of().parseHex("03feffffff0f"));
        return FuzzTarget.of("metadata", seeds, bytes -> MetadataCodec.decode(bytes)
                .ifPresent(read -> assertEquals(
                        Optional.of(read), MetadataCodec.decode(MetadataCodec.encode(read)))));
    }

    @Test
    @DisplayName("Fuzz: any bytes are a hit or damaged, and metadata access does not throw")
    void entry() {
        List<byte[]> seeds = List.of(
                EntryFormat.encode(small, Compression.NONE),
                EntryFormat.encode(two, Compression.NONE),
                EntryFormat.encode(two, Compression.ZSTD),
                EntryBytesEditor.of(two, Compression.ZSTD)
                        .replace(2, new byte[100], 100)
                        .bytes());
        Fuzzer.run(FuzzTarget.of("entry", seeds, bytes -> {
                    MemorySegment stored = MemorySegment.ofArray(bytes);
                    for (VerificationLevel verification : VerificationLevel.values()) {
                        LoadResult result = EntryFormat.decode(stored, verification);
                        assertThat(result).isOneOf(LoadResult.Hit.class, LoadResult.Damaged.class);
                        if (result instanceof LoadResult.Hit(Entry entry)) {
                            entry.metadata();
                        }
                    }
                    EntryFormat.decode(stored, small.id(), VerificationLevel.CHECKSUMS);
                    EntryFormat.statedLength(ByteBuffer.wrap(bytes), 0);
                })
                .repaired(EntryFuzzTest::repaired));
    }

    @Test
    @DisplayName("Fuzz: metadata is present or empty, allocates no declared length, and survives a"
            + " round trip")
    void metadata() {
        Fuzzer.run(metadataTarget());
    }

    @Test
    @DisplayName("Fuzz: bytes are a key or rejected, and a key survives a round trip")
    void key() {
        Fuzzer.run(FuzzTarget.of(
                "key", List.of(small.id().bytes(), two.id().bytes()), bytes -> Id.parse(bytes)
                        .ifPresent(id -> {
                            assertEquals(Optional.of(id), Id.parse(id.bytes()));
                            id.fields().forEach(Id.Field::text);
                            assertFalse(id.toString().isEmpty());
                        })));
    }

    @Test
    @DisplayName(
            "Fuzz: a parser that allocates a declared length, and one that throws, are detected")
    void brokenParsers() {
        byte[] seed = ByteBuffer.allocate(8).putInt(4).putInt(7).array();
        assertThrows(
                AssertionError.class,
                () -> Fuzzer.run(
                        FuzzTarget.of("allocating", List.of(seed), bytes -> {
                            int length = bytes.length < 4
                                    ? 0
                                    : ByteBuffer.wrap(bytes).getInt();
                            if (length > 0 && length <= 1 << 27) {
                                assertTrue(new byte[length].length > 0);
                            }
                        }),
                        5_000));
        assertThrows(
                AssertionError.class,
                () -> Fuzzer.run(
                        FuzzTarget.of("throwing", List.of(seed), bytes -> {
                            if (bytes.length == 7) {
                                throw new IllegalStateException("seven");
                            }
                        }),
                        5_000));
    }
}
