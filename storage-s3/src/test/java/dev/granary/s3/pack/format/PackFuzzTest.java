package dev.granary.s3.pack.format;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonParser;

import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.cache.fuzz.Fuzzer;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.store.ObjectStore;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/** Packs, their rows and keys as returned by a bucket, mutated, with valid checksums. */
class PackFuzzTest {
    private static final int FOOTER_OFFSET_AT = 16;
    private static final int FOOTER_ROWS_AT = 24;

    private final SplittableRandom random = TestSeed.random("PackFuzzTest");

    private PackBuilder.Pack pack(int entries) {
        PackBuilder builder = new PackBuilder(PackFixture.NAMESPACE, random);
        for (int i = 0; i < entries; i++) {
            builder.add(PackFixture.hash(random), new byte[] {1, 2, (byte) i}, i);
        }
        return builder.build();
    }

    private static byte[] repairedIndex(byte[] bytes) {
        int rows = bytes.length - PackIndex.FOOTER_BYTES;
        if (rows >= 0) {
            ByteBuffer out = ByteBuffer.wrap(bytes);
            out.putInt(rows + FOOTER_ROWS_AT, PackIndex.crc(bytes, 0, rows));
            out.putInt(
                    bytes.length - Integer.BYTES,
                    PackIndex.crc(bytes, rows, PackIndex.FOOTER_BYTES - Integer.BYTES));
        }
        return bytes;
    }

    @Test
    @DisplayName(
            "Fuzz: a row of a head or base is that of a pack or not, and a sound one is written"
                    + " as it was read")
    void row() {
        List<byte[]> seeds = Stream.of(
                        PackFixture.info(random, 7, 1),
                        PackFixture.info(random, 9, 20),
                        PackFixture.info(random, 9, 3).with(Optional.empty()))
                .map(info -> info.json().toString().getBytes(StandardCharsets.UTF_8))
                .toList();
        Fuzzer.run(FuzzTarget.of("pack row", seeds, bytes -> {
                    PackInfo info = PackInfo.of(
                            JsonParser.parseString(new String(bytes, StandardCharsets.UTF_8)));
                    assertEquals(info.json(), PackInfo.of(info.json()).json());
                    assertTrue(
                            info.indexBytes() > 0 && info.indexOffset() < info.bytes(),
                            info::toString);
                })
                .throwing(RuntimeException.class)
                .words(List.of("-1", "9223372036854775807", "null", "{}", "\"filter\":\"\"")));
    }

    @Test
    @DisplayName(
            "Fuzz: the end of a pack is an index or not, and no location of an index is outside of"
                    + " the pack")
    void index() {
        List<PackBuilder.Pack> packs = List.of(pack(0), pack(1), pack(5));
        List<byte[]> tails = packs.stream()
                .map(pack -> Arrays.copyOfRange(
                        pack.body(), (int) pack.info(7).indexOffset(), pack.body().length))
                .toList();
        Fuzzer.run(FuzzTarget.of("pack index", tails, bytes -> {
                    long offset = bytes.length < PackIndex.FOOTER_BYTES
                            ? 32
                            : ByteBuffer.wrap(bytes)
                                    .getLong(bytes.length
                                            - PackIndex.FOOTER_BYTES
                                            + FOOTER_OFFSET_AT);
                    if (PackIndex.decode(bytes, offset, PackFixture.NAMESPACE)
                            instanceof PackIndex.Read.Ok(PackIndex index)) {
                        for (PackLocation location : index.locations()) {
                            assertTrue(
                                    location.offset() >= PackIndex.HEADER_BYTES
                                            && location.end() <= offset
                                            && location.length() > 0,
                                    location::toString);
                            assertEquals(Optional.of(location), index.find(location.id()));
                        }
                    }
                })
                .repaired(PackFuzzTest::repairedIndex));
    }

    @Test
    @DisplayName(
            "An index that begins within its pack's header is CORRUPT, whatever its rows contain:"
                    + " nothing overflows")
    void indexAtANegativeOffset() {
        PackBuilder.Pack pack = pack(1);
        for (long offset :
                new long[] {Long.MIN_VALUE, Long.MIN_VALUE + 31, -1, 0, PackIndex.HEADER_BYTES - 1
                }) {
            byte[] encodedIndex = Arrays.copyOfRange(
                    pack.body(), (int) pack.info(7).indexOffset(), pack.body().length);
            ByteBuffer.wrap(encodedIndex)
                    .putLong(
                            encodedIndex.length - PackIndex.FOOTER_BYTES + FOOTER_OFFSET_AT,
                            offset);
            PackIndex.Read read =
                    PackIndex.decode(repairedIndex(encodedIndex), offset, PackFixture.NAMESPACE);
            assertThat(read).isBad(DamageKind.CORRUPT);
        }
    }

    @Test
    @DisplayName("Fuzz: a text is a filter or not, and a filter tests any id")
    void filter() {
        Sha256 any = PackFixture.hash(random);
        Fuzzer.run(FuzzTarget.of(
                        "id filter",
                        List.of(IdBloomFilter.of(List.of(PackFixture.hash(random)))
                                .encoded()
                                .getBytes(StandardCharsets.US_ASCII)),
                        bytes -> IdBloomFilter.decoded(new String(bytes, StandardCharsets.US_ASCII))
                                .mayContain(any))
                .throwing(IllegalArgumentException.class));
    }

    @Test
    @DisplayName("Fuzz: a listed key is that of its pack or its entry, or of neither")
    void keys() {
        ObjectName name = new ObjectName(42, PackFixture.hash(random));
        String unpackedKey = PackFixture.KEYS.unpackedPrefix()
                + name.hash().hex().substring(0, 2) + "/" + name.hash().hex();
        List<byte[]> seeds = List.of(
                PackFixture.KEYS.pack(name).getBytes(StandardCharsets.UTF_8),
                PackFixture.KEYS.base(name).getBytes(StandardCharsets.UTF_8),
                unpackedKey.getBytes(StandardCharsets.UTF_8),
                "x".getBytes(StandardCharsets.UTF_8));
        Fuzzer.run(FuzzTarget.of("listed keys", seeds, bytes -> {
                    String key = new String(bytes, StandardCharsets.UTF_8);
                    PackFixture.KEYS
                            .packName(key)
                            .ifPresent(pack -> assertEquals(PackFixture.KEYS.pack(pack), key));
                    PackFixture.KEYS
                            .baseName(key)
                            .ifPresent(base -> assertEquals(PackFixture.KEYS.base(base), key));
                    UnpackedEntry.of(
                                    new ObjectStore.Listed(key, 1, "e", 0),
                                    PackFixture.KEYS.unpackedPrefix())
                            .ifPresent(entry -> {
                                String hex = entry.id().hex();
                                assertEquals(
                                        PackFixture.KEYS.unpackedPrefix() + hex.substring(0, 2)
                                                + "/" + hex,
                                        key);
                            });
                })
                .words(List.of("/", "..", "A", "F", ".pack", "p/", "m/", "e/", "v2/")));
    }
}
