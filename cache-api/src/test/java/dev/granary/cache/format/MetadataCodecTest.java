package dev.granary.cache.format;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.esotericsoftware.kryo.io.Output;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** Tests of metadata from untrusted bytes with a matching checksum. */
class MetadataCodecTest {
    private final EntryMetadata metadata = new EntryMetadata(
            "1.0", "host:1", Instant.EPOCH, List.of("k1", "k2"), List.of("64x1x1"), "gemm 4096");
    private final byte[] good = MetadataCodec.encode(metadata);

    private static byte[] written(Consumer<Output> writer) {
        try (Output out = new Output(64, -1)) {
            writer.accept(out);
            return out.toBytes();
        }
    }

    private static void assertEmpty(byte[] bytes) {
        assertEquals(Optional.empty(), MetadataCodec.decode(bytes));
        TestEntries entries = new TestEntries("metadata");
        Entry entry = entries.entry(10);
        Entry read = assertThat(EntryBytesEditor.of(entry, Compression.NONE)
                        .replace(1, bytes, bytes.length)
                        .decode(entry.id()))
                .isHit();
        assertEquals(Optional.empty(), read.metadata());
        assertEquals(entry.binaries(), read.binaries());
    }

    @Test
    @DisplayName("metadata survives a round trip")
    void roundTrip() {
        assertEquals(Optional.of(metadata), MetadataCodec.decode(good));
    }

    @Test
    @DisplayName("no bytes, the null object and unregistered class numbers give no metadata")
    void classNumbers() {
        assertEmpty(new byte[0]);
        assertEmpty(new byte[] {0});
        for (int number :
                new int[] {2, 3, 5, 11, 13, 14, 1000, Integer.MAX_VALUE, -1, Integer.MIN_VALUE}) {
            assertEmpty(written(out -> {
                out.writeVarInt(number, true);
                out.writeBytes(good, 1, good.length - 1);
            }));
        }
    }

    @Test
    @DisplayName("Kryo's own serializers are not used: a length after their class numbers allocates"
            + " nothing")
    void kryosOwnSerializers() {
        for (String hex : List.of("03c0d28747", "03c9d2f06763", "03feffffff0f")) {
            assertEmpty(HexFormat.of().parseHex(hex));
        }
        long before = allocatedBytes();
        for (int number = 0; number < 32; number++) {
            for (int lead = 0x80; lead <= 0xff; lead += 0x0f) {
                byte[] declared = {(byte) number, (byte) lead, (byte) 0xff, (byte) 0xff, (byte) 0x0f
                };
                assertEquals(Optional.empty(), MetadataCodec.decode(declared));
            }
        }
        assertTrue(
                allocatedBytes() - before < 8 << 20, "bytes allocated for 288 sections of 5 bytes");
    }

    private static long allocatedBytes() {
        return ((com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean())
                .getCurrentThreadAllocatedBytes();
    }

    @Test
    @DisplayName("a time outside the range of epoch milliseconds is clamped")
    void timesOutsideOfEpochMilliseconds() {
        for (Instant time : List.of(
                Instant.MAX,
                Instant.MIN,
                Instant.parse("+292278995-01-01T00:00:00Z"),
                Instant.parse("-1000000000-01-01T00:00:00Z"))) {
            EntryMetadata odd = new EntryMetadata("1.0", "host:1", time, List.of(), List.of(), "");
            EntryMetadata read = MetadataCodec.decode(MetadataCodec.encode(odd)).orElseThrow();
            assertEquals(odd, read);
            assertEquals(
                    time.isAfter(Instant.EPOCH) ? Long.MAX_VALUE : Long.MIN_VALUE,
                    read.createdAt().toEpochMilli());
        }
        Instant inside = Instant.ofEpochMilli(-1);
        assertEquals(
                inside,
                new EntryMetadata("", "", inside.plusNanos(999_999), List.of(), List.of(), "")
                        .createdAt());
    }

    @Test
    @DisplayName("a class given by name is rejected: neither loaded nor allocated")
    void classNames() {
        for (String name : List.of(
                "java.lang.String",
                "java.util.ArrayList",
                EntryMetadata.class.getName(),
                "no.such.Class",
                "")) {
            assertEmpty(written(out -> {
                out.writeVarInt(1, true);
                out.writeVarInt(0, true);
                out.writeString(name);
                out.writeBytes(good, 1, good.length - 1);
            }));
        }
        // A name of 2^31 characters.
        assertEmpty(new byte[] {1, 0, (byte) 0xbf, (byte) 0xff, (byte) 0xff, (byte) 0xff, 0x0f});
    }

    @Test
    @DisplayName("every truncation gives no metadata")
    void truncations() {
        for (int length = 0; length < good.length; length++) {
            assertEquals(Optional.empty(), MetadataCodec.decode(Arrays.copyOf(good, length)));
        }
    }

    @Test
    @DisplayName("huge lengths at every offset: no exception, no allocation of that length")
    void lengths() {
        for (int length :
                new int[] {Integer.MAX_VALUE, -1, Integer.MIN_VALUE, 1 << 30, good.length}) {
            for (int at = 0; at + 4 <= good.length; at++) {
                byte[] bad = good.clone();
                ByteBuffer.wrap(bad).order(java.nio.ByteOrder.LITTLE_ENDIAN).putInt(at, length);
                MetadataCodec.decode(bad)
                        .ifPresent(read -> assertTrue(size(read) <= 3 * bad.length));
            }
        }
    }

    @Test
    @DisplayName("random changes and random bytes: no exception")
    void random() {
        SplittableRandom random = TestSeed.random(getClass().getName());
        for (int i = 0; i < 3000; i++) {
            byte[] bad = ByteMutator.of(good, good, random);
            MetadataCodec.decode(bad).ifPresent(read -> assertTrue(size(read) <= 3 * bad.length));
            byte[] noise = new byte[random.nextInt(64)];
            random.nextBytes(noise);
            MetadataCodec.decode(noise)
                    .ifPresent(read -> assertTrue(size(read) <= 3 * noise.length));
        }
    }

    private static int size(EntryMetadata read) {
        return read.granaryVersion().length()
                + read.producer().length()
                + read.readableKey().length()
                + String.join("", read.kernels()).length()
                + String.join("", read.geometries()).length();
    }
}
