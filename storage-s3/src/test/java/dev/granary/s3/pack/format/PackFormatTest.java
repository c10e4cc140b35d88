package dev.granary.s3.pack.format;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;

import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.PackFixture;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** Packs as bytes: written packs are read, and other bytes are refused. */
class PackFormatTest {
    private static final String NAMESPACE = TestEntries.TARGET.path();

    // offsets in the footer
    private static final int VERSION_AT = 8;
    private static final int COUNT_AT = 12;
    private static final int OFFSET_AT = 16;
    private static final int ROWS_CRC_AT = 24;

    private final SplittableRandom random = TestSeed.random("PackFormatTest");

    private Map<Sha256, byte[]> entries(int count, int maxBytes) {
        Map<Sha256, byte[]> entries = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            byte[] bytes = new byte[random.nextInt(1, maxBytes + 1)];
            random.nextBytes(bytes);
            entries.put(PackFixture.hash(random), bytes);
        }
        return entries;
    }

    private PackBuilder.Pack pack(Map<Sha256, byte[]> entries) {
        PackBuilder builder = new PackBuilder(NAMESPACE, random);
        entries.forEach((id, bytes) -> builder.add(id, bytes, id.prefix()));
        assertEquals(entries.size(), builder.size());
        return builder.build();
    }

    private static byte[] encodedIndex(PackBuilder.Pack pack) {
        return Arrays.copyOfRange(
                pack.body(), (int) pack.info(7).indexOffset(), pack.body().length);
    }

    private static PackIndex index(byte[] encodedIndex, long indexOffset) {
        PackIndex.Read read = PackIndex.decode(encodedIndex, indexOffset, NAMESPACE);
        return assertThat(read).isOk();
    }

    private static DamageKind bad(byte[] encodedIndex, long indexOffset) {
        return assertThat(PackIndex.decode(encodedIndex, indexOffset, NAMESPACE))
                .isBad()
                .damage();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 1000})
    @DisplayName("every entry of a pack is found at its location, with its checksum and compile"
            + " time, and no other is found")
    void roundTrip(int count) {
        Map<Sha256, byte[]> entries = entries(count, 300);
        PackBuilder.Pack pack = pack(entries);
        PackInfo info = pack.info(7);
        assertEquals(new ObjectName(7, Sha256.of(pack.body())), info.name());
        assertEquals(pack.body().length, info.bytes());
        assertEquals(info.bytes() - info.indexOffset(), info.indexBytes());
        assertEquals(count, info.entries());
        PackIndex index = index(encodedIndex(pack), info.indexOffset());
        assertTrue(info.isIndexedBy(index));
        assertEquals(count, index.locations().size());
        entries.forEach((id, bytes) -> {
            PackLocation location = index.find(id).orElseThrow();
            assertArrayEquals(bytes, Arrays.copyOfRange(pack.body(), (int) location.offset(), (int)
                    location.end()));
            assertEquals(PackIndex.crc(bytes, 0, bytes.length), location.checksum());
            assertEquals(id.prefix(), location.compileNanos());
            assertEquals(id, location.id());
        });
        for (int i = 0; i < 1000; i++) {
            assertEquals(Optional.empty(), index.find(PackFixture.hash(random)));
        }
        List<PackLocation> locations = index.locations();
        assertEquals(pack.locations(), List.copyOf(locations));
        for (int i = 1; i < count; i++) {
            assertTrue(
                    Arrays.compareUnsigned(
                                    locations.get(i - 1).id().bytes(),
                                    locations.get(i).id().bytes())
                            < 0,
                    "not sorted");
            assertEquals(locations.get(i - 1).end(), locations.get(i).offset());
        }
    }

    @Test
    @DisplayName("entries of one byte and of the limit fit into a pack; empty and larger ones are"
            + " refused; an id is added once")
    void limits() {
        PackBuilder builder = new PackBuilder(NAMESPACE, random);
        Sha256 small = PackFixture.hash(random);
        Sha256 large = PackFixture.hash(random);
        builder.add(small, new byte[] {7}, 1);
        builder.add(small, new byte[] {8, 9}, 2);
        byte[] most = new byte[PackIndex.MAX_ENTRY_BYTES];
        random.nextBytes(most);
        builder.add(large, most, 3);
        assertTrue(PackBuilder.fits(most.length));
        assertFalse(PackBuilder.fits(most.length + 1L));
        assertThrows(
                IllegalArgumentException.class,
                () -> builder.add(PackFixture.hash(random), new byte[0], 0));
        assertThrows(
                IllegalArgumentException.class,
                () -> builder.add(PackFixture.hash(random), new byte[most.length + 1], 0));
        assertEquals(2, builder.size());
        assertTrue(builder.isFull(0));
        PackBuilder.Pack pack = builder.build();
        PackIndex index = index(encodedIndex(pack), pack.info(7).indexOffset());
        assertEquals(1, index.find(small).orElseThrow().length());
        PackLocation location = index.find(large).orElseThrow();
        assertTrue(Arrays.equals(
                most, 0, most.length, pack.body(), (int) location.offset(), (int) location.end()));
    }

    @Test
    @DisplayName("no two packs have the same name, even with the same entries")
    void names() {
        Map<Sha256, byte[]> entries = entries(3, 10);
        assertFalse(pack(entries).info(7).name().equals(pack(entries).info(7).name()));
    }

    @Test
    @DisplayName("any changed byte of an index, any truncation, trailing bytes: bad, never an"
            + " exception, never a wrong location")
    void corruptionMatrix() {
        PackBuilder.Pack pack = pack(entries(5, 50));
        byte[] encodedIndex = encodedIndex(pack);
        long offset = pack.info(7).indexOffset();
        for (int i = 0; i < encodedIndex.length; i++) {
            for (int bit = 0; bit < Byte.SIZE; bit++) {
                byte[] changed = encodedIndex.clone();
                changed[i] ^= (byte) (1 << bit);
                bad(changed, offset);
            }
            bad(Arrays.copyOf(encodedIndex, i), offset);
            bad(
                    Arrays.copyOfRange(encodedIndex, encodedIndex.length - i, encodedIndex.length),
                    offset);
        }
        bad(Arrays.copyOf(encodedIndex, encodedIndex.length + 1), offset);
        bad(Arrays.copyOf(encodedIndex, encodedIndex.length + PackIndex.ROW_BYTES), offset);
        bad(encodedIndex, offset + 1);
        assertEquals(DamageKind.TRUNCATED, bad(new byte[0], offset));
        assertEquals(DamageKind.FOREIGN, bad(new byte[500], offset));
    }

    /** Returns the encoded index of a pack, changed, with valid checksums. */
    private static byte[] resealed(
            byte[] encodedIndex, Consumer<ByteBuffer> rows, Consumer<ByteBuffer> footer) {
        byte[] changed = encodedIndex.clone();
        int at = changed.length - PackIndex.FOOTER_BYTES;
        rows.accept(ByteBuffer.wrap(changed, 0, at).slice());
        ByteBuffer end = ByteBuffer.wrap(changed, at, PackIndex.FOOTER_BYTES).slice();
        end.putInt(ROWS_CRC_AT, PackIndex.crc(changed, 0, at));
        footer.accept(end);
        end.putInt(
                PackIndex.FOOTER_BYTES - Integer.BYTES,
                PackIndex.crc(changed, at, PackIndex.FOOTER_BYTES - Integer.BYTES));
        return changed;
    }

    @Test
    @DisplayName(
            "hostile numbers in the footer with valid checksums are refused, and take no memory")
    void hostileFooter() {
        PackBuilder.Pack pack = pack(entries(5, 50));
        byte[] encodedIndex = encodedIndex(pack);
        long offset = pack.info(7).indexOffset();
        assertEquals(5, index(resealed(encodedIndex, _ -> {}, _ -> {}), offset).size());
        for (int count :
                new int[] {-1, 0, 4, 6, Integer.MAX_VALUE, Integer.MIN_VALUE, 5 + (1 << 29)}) {
            assertEquals(
                    DamageKind.CORRUPT,
                    bad(
                            resealed(
                                    encodedIndex,
                                    _ -> {},
                                    footer -> footer.putInt(COUNT_AT, count)),
                            offset));
        }
        for (long wrong : new long[] {
            -1, 0, offset - 1, offset + 1, Long.MAX_VALUE, Long.MIN_VALUE, offset + (1L << 32)
        }) {
            assertEquals(
                    DamageKind.CORRUPT,
                    bad(
                            resealed(
                                    encodedIndex,
                                    _ -> {},
                                    footer -> footer.putLong(OFFSET_AT, wrong)),
                            offset));
        }
        assertEquals(
                DamageKind.TOO_NEW,
                bad(
                        resealed(encodedIndex, _ -> {}, footer -> footer.putInt(VERSION_AT, 3)),
                        offset));
        assertEquals(
                DamageKind.TOO_OLD,
                bad(
                        resealed(encodedIndex, _ -> {}, footer -> footer.putInt(VERSION_AT, 1)),
                        offset));
    }

    @Test
    @DisplayName("locations outside of the entries, invalid lengths and unordered ids are refused"
            + " with valid checksums")
    void hostileRows() {
        PackBuilder.Pack pack = pack(entries(5, 50));
        byte[] encodedIndex = encodedIndex(pack);
        long end = pack.info(7).indexOffset();
        int offsetAt = 2 * PackIndex.ROW_BYTES + Sha256.BYTES;
        int lengthAt = offsetAt + Long.BYTES;
        for (long offset : new long[] {
            -1,
            0,
            PackIndex.HEADER_BYTES - 1,
            end,
            Long.MAX_VALUE,
            Long.MIN_VALUE,
            Long.MAX_VALUE - 10
        }) {
            assertEquals(
                    DamageKind.CORRUPT,
                    bad(
                            resealed(encodedIndex, rows -> rows.putLong(offsetAt, offset), _ -> {}),
                            end));
        }
        for (int length : new int[] {
            -1, 0, Integer.MAX_VALUE, Integer.MIN_VALUE, PackIndex.MAX_ENTRY_BYTES + 1, (int) end
        }) {
            assertEquals(
                    DamageKind.CORRUPT,
                    bad(
                            resealed(encodedIndex, rows -> rows.putInt(lengthAt, length), _ -> {}),
                            end));
        }
        assertEquals(
                DamageKind.CORRUPT,
                bad(
                        resealed(
                                encodedIndex,
                                rows -> rows.put(0, (byte) -1).put(1, (byte) -1).put(2, (byte) -1),
                                _ -> {}),
                        end));
        byte[] twice = resealed(
                encodedIndex,
                rows -> rows.put(0, encodedIndex, PackIndex.ROW_BYTES, PackIndex.ROW_BYTES),
                _ -> {});
        assertEquals(DamageKind.CORRUPT, bad(twice, end));
    }

    @Test
    @DisplayName("a row of a head or base with lengths that are not those of a pack is refused")
    void hostileInfo() {
        JsonObject row = pack(entries(5, 50)).info(7).json();
        assertEquals(row, PackInfo.of(row).json());
        for (String field : List.of("bytes", "indexOffset", "entries")) {
            for (long wrong : new long[] {
                -1, 0, 4, row.get(field).getAsLong() + 1, Long.MAX_VALUE, Long.MIN_VALUE, 1L << 32
            }) {
                JsonObject hostile = row.deepCopy();
                hostile.addProperty(field, wrong);
                assertThrows(RuntimeException.class, () -> PackInfo.of(hostile), field);
            }
        }
        for (String wrong : List.of("", "0", "../x", "f".repeat(16) + "-" + "0".repeat(64))) {
            JsonObject hostile = row.deepCopy();
            hostile.addProperty("name", wrong);
            assertThrows(RuntimeException.class, () -> PackInfo.of(hostile));
        }
    }

    @Test
    @DisplayName("the pack of another target is refused")
    void otherTarget() {
        PackBuilder.Pack pack = pack(entries(2, 50));
        PackIndex.Read read = PackIndex.decode(
                encodedIndex(pack), pack.info(7).indexOffset(), TestEntries.OTHER_TARGET.path());
        assertThat(read).isBad(DamageKind.WRONG_KEY);
    }

    @Test
    @DisplayName(
            "a sound index of another pack with the same length is distinguished from the pack's"
                    + " own")
    void otherPack() {
        Map<Sha256, byte[]> one = new LinkedHashMap<>();
        Map<Sha256, byte[]> other = new LinkedHashMap<>();
        for (int i = 0; i < 8; i++) {
            one.put(PackFixture.hash(random), new byte[20]);
            other.put(PackFixture.hash(random), new byte[20]);
        }
        PackBuilder.Pack pack = pack(one);
        PackIndex foreign = index(encodedIndex(pack(other)), pack.info(7).indexOffset());
        assertFalse(pack.info(7).isIndexedBy(foreign));
    }
}
