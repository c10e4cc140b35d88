package dev.granary.cache.format;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.contract.TestKeys;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntryFormat.VerificationLevel;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;

/**
 * Golden entries of format version 2 as stored in buckets. Released versions stay readable, so a
 * golden file never changes; another format version adds files. {@link #main} wrote them.
 */
class GoldenEntryTest {
    private static final EntryMetadata METADATA = new EntryMetadata(
            "0.1.0",
            "host-1:4711",
            Instant.parse("2026-01-02T03:04:05.006Z"),
            List.of("gemm", "gemm_tail"),
            List.of("64x1x1"),
            "gemm m=4096 n=4096 k=4096 \u00fc");

    static Entry entry() {
        Id id = Id.builder(new Target(Backend.OPENCL, "pocl", "cpu-haswell", "6.0"))
                .field("source", "kernel void gemm() {}")
                .field("bits", 64)
                .build();
        return Entry.of(
                id,
                KernelBinaries.of(
                        new byte[] {1, 2, 3}, new byte[0], TestEntries.compressible(1000)),
                Duration.ofMillis(1234),
                METADATA);
    }

    private static byte[] file(String name) throws IOException {
        try (InputStream in =
                Objects.requireNonNull(GoldenEntryTest.class.getResourceAsStream(name), name)) {
            return in.readAllBytes();
        }
    }

    private static void assertReads(byte[] stored) {
        for (VerificationLevel verification : VerificationLevel.values()) {
            Entry read = assertThat(EntryFormat.decode(
                            MemorySegment.ofArray(stored), entry().id(), verification))
                    .isHit();
            assertEquals(entry().binaries(), read.binaries());
            assertEquals(entry().contentHash(), read.contentHash());
            assertEquals(Optional.of(METADATA), read.metadata());
            assertEquals(Duration.ofMillis(1234), read.compileTime());
            assertEquals(
                    entry().id(),
                    assertThat(EntryFormat.decode(MemorySegment.ofArray(stored), verification))
                            .isHit()
                            .id());
        }
    }

    @Test
    @DisplayName("a raw entry of version 2 is decoded, and encoded to identical bytes")
    void raw() throws IOException {
        byte[] golden = file("v2-raw.entry");
        assertReads(golden);
        assertArrayEquals(
                golden,
                EntryFormat.encode(
                        entry(),
                        Compression.NONE,
                        new UUID(0x0123456789abcdefL, 0xfedcba9876543210L)));
    }

    @Test
    @DisplayName("a zstd entry of version 2 is decoded; other library versions may encode it"
            + " differently")
    void zstd() throws IOException {
        assertReads(file("v2-zstd.entry"));
        assertReads(EntryFormat.encode(entry(), Compression.ZSTD));
    }

    @Test
    @DisplayName("a signed entry of version 2 is verified, and signed to identical bytes")
    void signed() throws Exception {
        byte[] golden = file("v2-signed.entry");
        assertReads(golden);
        Entry read = assertThat(EntryFormat.decode(
                        MemorySegment.ofArray(golden), VerificationLevel.CHECKSUMS))
                .isHit();
        EntrySignature signature = EntrySignature.of(read).orElseThrow();
        assertEquals("ci-2026", signature.keyName());
        assertTrue(signature.isBy(TestKeys.publicKey(1), read, new HashSet<>()));
        assertArrayEquals(
                golden,
                EntryFormat.encode(
                        TestKeys.signer("ci-2026", 1).sign(entry()),
                        Compression.NONE,
                        new UUID(0x0123456789abcdefL, 0xfedcba9876543210L)));
    }

    @Test
    @DisplayName("the content hash of an entry never changes, since it compares the content of"
            + " producers")
    void contentHash() {
        assertEquals(
                "e4e820d25c1a27c137700536c757478db5dfa4f35ce8674ac6f6fff168127491",
                entry().contentHash().hex());
    }

    /** Writes the files of a new format version into a directory. */
    public static void main(String[] arguments) throws IOException {
        Path directory = Path.of(arguments[0]);
        UUID putId = new UUID(0x0123456789abcdefL, 0xfedcba9876543210L);
        Files.write(
                directory.resolve("v2-raw.entry"),
                EntryFormat.encode(entry(), Compression.NONE, putId));
        Files.write(
                directory.resolve("v2-zstd.entry"),
                EntryFormat.encode(entry(), Compression.ZSTD, putId));
        Files.write(
                directory.resolve("v2-signed.entry"),
                EntryFormat.encode(
                        TestKeys.signer("ci-2026", 1).sign(entry()), Compression.NONE, putId));
    }
}
