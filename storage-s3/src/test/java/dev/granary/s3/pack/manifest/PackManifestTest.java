package dev.granary.s3.pack.manifest;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** Manifests as bytes, and the steps from one to the next. */
class PackManifestTest {
    // offsets in a manifest whose first pack has one entry
    private static final int VERSION_AT = 8;
    private static final int FLAGS_AT = 12;
    private static final int NUMBER_AT = 16;
    private static final int PACKS_AT = 24;
    private static final int FIRST_PACK_AT = 28;
    private static final int BYTES_AT = FIRST_PACK_AT + Sha256.BYTES;
    private static final int INDEX_OFFSET_AT = BYTES_AT + Long.BYTES;
    private static final int ENTRIES_AT = INDEX_OFFSET_AT + Long.BYTES;
    private static final int FILTER_LENGTH_AT = ENTRIES_AT + Integer.BYTES + Long.BYTES;
    private static final int RETIRED_AT = FILTER_LENGTH_AT + Integer.BYTES + Long.BYTES;

    private final SplittableRandom random = TestSeed.random("PackManifestTest");

    private static PackManifest read(byte[] stored) {
        PackManifest.Read read = PackManifest.decode(stored);
        return assertThat(read).isOk();
    }

    private static DamageKind bad(byte[] stored) {
        return assertThat(PackManifest.decode(stored)).isBad().damage();
    }

    private PackManifest small() {
        return new PackManifest(
                7,
                PackManifest.UnpackedEntries.POSSIBLE,
                List.of(PackFixture.info(random, 1)),
                List.of(new PackManifest.Retired(PackFixture.hash(random), 3)));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 300})
    @DisplayName("D1 a manifest is read as it was written")
    void roundTrip(int count) {
        List<PackInfo> packs = new ArrayList<>();
        List<PackManifest.Retired> retired = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            packs.add(PackFixture.info(random, i % 40).since(i));
            retired.add(new PackManifest.Retired(PackFixture.hash(random), i));
        }
        for (PackManifest.UnpackedEntries unpackedEntries : PackManifest.UnpackedEntries.values()) {
            PackManifest manifest =
                    new PackManifest(Long.MAX_VALUE - count, unpackedEntries, packs, retired);
            PackManifest read = read(manifest.encode());
            assertEquals(manifest.number(), read.number());
            assertEquals(unpackedEntries, read.unpackedEntries());
            assertEquals(retired, read.retired());
            assertEquals(
                    packs.stream().map(PackInfo::name).toList(),
                    read.packs().stream().map(PackInfo::name).toList());
            assertEquals(manifest.bytes(), read.bytes());
            assertEquals(manifest.entries(), read.entries());
            assertArrayEquals(manifest.encode(), read.encode());
        }
    }

    @Test
    @DisplayName(
            "each step makes the next number: one more pack, replaced packs, without retired ones,"
                    + " sealed")
    void steps() {
        PackManifest one = PackManifest.NONE.plus(PackFixture.info(random, 1));
        PackManifest two = one.plus(PackFixture.info(random, 2));
        assertEquals(List.of(1L, 2L), two.packs().stream().map(PackInfo::since).toList());
        Sha256 old = two.packs().getFirst().name();
        PackInfo merged = PackFixture.info(random, 3);
        PackManifest three =
                two.replacing(Set.of(old), List.of(merged), PackManifest.UnpackedEntries.POSSIBLE);
        assertEquals(
                List.of(merged.name(), two.packs().getLast().name()),
                three.packs().stream().map(PackInfo::name).toList());
        assertEquals(List.of(new PackManifest.Retired(old, 3)), three.retired());
        PackManifest four = three.withoutRetired(Set.of(new PackManifest.Retired(old, 3)));
        assertEquals(List.of(), four.retired());
        PackManifest five = four.replacing(Set.of(), List.of(), PackManifest.UnpackedEntries.NONE);
        assertEquals(
                List.of(1L, 2L, 3L, 4L, 5L),
                List.of(one, two, three, four, five).stream()
                        .map(PackManifest::number)
                        .toList());
        assertEquals(
                PackManifest.UnpackedEntries.NONE,
                read(five.plus(merged).encode()).unpackedEntries());
    }

    @Test
    @DisplayName("D6 any changed bit of a manifest, any truncation, trailing bytes: bad, never an"
            + " exception")
    void corruptionMatrix() {
        byte[] stored = small().encode();
        for (int i = 0; i < stored.length; i++) {
            for (int bit = 0; bit < Byte.SIZE; bit++) {
                byte[] changed = stored.clone();
                changed[i] ^= (byte) (1 << bit);
                bad(changed);
            }
            bad(Arrays.copyOf(stored, i));
        }
        bad(Arrays.copyOf(stored, stored.length + 1));
        assertEquals(DamageKind.TRUNCATED, bad(new byte[0]));
        assertEquals(DamageKind.FOREIGN, bad(new byte[200]));
    }

    private static byte[] resealed(byte[] stored, Consumer<ByteBuffer> change) {
        ByteBuffer changed = ByteBuffer.wrap(stored.clone());
        change.accept(changed);
        return resealed(changed.array());
    }

    private static byte[] resealed(byte[] stored) {
        ByteBuffer.wrap(stored)
                .putInt(
                        stored.length - Integer.BYTES,
                        PackIndex.crc(stored, 0, stored.length - Integer.BYTES));
        return stored;
    }

    @Test
    @DisplayName(
            "T5 hostile counts and lengths with a valid checksum are refused, and take no memory")
    void hostileNumbers() {
        byte[] stored = small().encode();
        read(resealed(stored, _ -> {}));
        assertEquals(1, ByteBuffer.wrap(stored).getInt(RETIRED_AT));
        for (int at : new int[] {PACKS_AT, FILTER_LENGTH_AT, RETIRED_AT, ENTRIES_AT}) {
            for (int number : new int[] {-1, 0, 2, 1 << 20, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
                bad(resealed(stored, in -> in.putInt(at, number)));
            }
        }
        for (int at : new int[] {BYTES_AT, INDEX_OFFSET_AT}) {
            long sound = ByteBuffer.wrap(stored).getLong(at);
            for (long number : new long[] {
                -1, 0, sound - 1, sound + 1, sound + (1L << 32), Long.MAX_VALUE, Long.MIN_VALUE
            }) {
                bad(resealed(stored, in -> in.putLong(at, number)));
            }
        }
        bad(resealed(stored, in -> in.putLong(NUMBER_AT, -1)));
    }

    @Test
    @DisplayName("T5 an empty manifest with negative counts is refused")
    void negativeCounts() {
        byte[] stored = PackManifest.NONE.encode();
        bad(resealed(stored, in -> in.putInt(PACKS_AT, -1)));
        bad(resealed(stored, in -> in.putInt(FIRST_PACK_AT, -1)));
        bad(resealed(Arrays.copyOf(stored, stored.length + 1)));
    }

    @Test
    @DisplayName(
            "T5 a pack that declares an index of gigabytes, with consistent lengths and a filter"
                    + " for one id, is refused")
    void hugeIndex() {
        int entries = 37_000_000;
        for (long indexOffset :
                new long[] {PackIndex.HEADER_BYTES, PackIndex.HEADER_BYTES + entries}) {
            long bytes =
                    indexOffset + (long) entries * PackIndex.ROW_BYTES + PackIndex.FOOTER_BYTES;
            assertEquals(DamageKind.CORRUPT, bad(resealed(small().encode(), in -> in.putLong(
                            BYTES_AT, bytes)
                    .putLong(INDEX_OFFSET_AT, indexOffset)
                    .putInt(ENTRIES_AT, entries))));
        }
    }

    @Test
    @DisplayName("a manifest of another version, or with an unknown flag, is reported as such")
    void versions() {
        byte[] stored = small().encode();
        assertEquals(DamageKind.TOO_NEW, bad(resealed(stored, in -> in.putInt(VERSION_AT, 2))));
        assertEquals(DamageKind.TOO_OLD, bad(resealed(stored, in -> in.putInt(VERSION_AT, 0))));
        assertEquals(DamageKind.TOO_NEW, bad(resealed(stored, in -> in.putInt(FLAGS_AT, 4))));
        assertEquals(
                DamageKind.TOO_NEW,
                bad(resealed(stored, in -> in.putInt(FLAGS_AT, 3))),
                "sealed, and about to be");
    }
}
