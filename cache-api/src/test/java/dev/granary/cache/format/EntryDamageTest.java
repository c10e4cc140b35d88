package dev.granary.cache.format;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;

/** Tests of accidental damage at every position. */
class EntryDamageTest {
    private final TestEntries entries = new TestEntries(getClass().getName());
    private final Entry entry = TestEntries.entry(
            entries.id(),
            KernelBinaries.of(entries.bytes(50), new byte[0], TestEntries.compressible(600)));

    @ParameterizedTest
    @EnumSource
    @DisplayName("every bit flipped, every byte 0x00 and 0xff: a miss with the documented reason")
    void everyByte(Compression compression) {
        byte[] good = EntryBytesEditor.of(entry, compression).bytes();
        for (int at = 0; at < good.length; at++) {
            for (int change = 0; change < 10; change++) {
                byte[] bad = good.clone();
                bad[at] =
                        change < 8 ? (byte) (bad[at] ^ 1 << change) : change == 8 ? 0 : (byte) 0xff;
                if (bad[at] != good[at]) {
                    LoadResult result = EntryBytesEditor.decode(bad, entry.id());
                    int position = at;
                    assertTrue(
                            expected(at).contains(EntryBytesEditor.damage(result)),
                            () -> "byte " + position + ": " + result);
                }
            }
        }
    }

    private static List<DamageKind> expected(int at) {
        if (at < EntryBytesEditor.VERSION) {
            return List.of(DamageKind.FOREIGN);
        }
        return at >= EntryBytesEditor.COUNT && at < EntryBytesEditor.RESERVED
                ? List.of(DamageKind.CORRUPT, DamageKind.TRUNCATED)
                : List.of(DamageKind.CORRUPT);
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("every truncation is TRUNCATED")
    void everyTruncation(Compression compression) {
        byte[] good = EntryBytesEditor.of(entry, compression).bytes();
        for (int length = 0; length < good.length; length++) {
            assertEquals(
                    DamageKind.TRUNCATED,
                    EntryBytesEditor.damage(
                            EntryBytesEditor.decode(Arrays.copyOf(good, length), entry.id())),
                    "at " + length);
        }
    }

    @Test
    @DisplayName("an end of zeros, as file systems leave it after a crash, is a miss")
    void zeroEnd() {
        byte[] good = EntryBytesEditor.of(entry, Compression.NONE).bytes();
        int lastSet = good.length - 1;
        while (good[lastSet] == 0) {
            lastSet--;
        }
        for (int from = 0; from <= lastSet; from++) {
            byte[] bad = good.clone();
            Arrays.fill(bad, from, bad.length, (byte) 0);
            EntryBytesEditor.damage(EntryBytesEditor.decode(bad, entry.id()));
        }
    }

    @Test
    @DisplayName("1 and 100 trailing bytes, and the entry twice, are EXTENDED")
    void trailingJunk() {
        byte[] good = EntryBytesEditor.of(entry, Compression.NONE).bytes();
        for (int more : new int[] {1, 100, good.length}) {
            byte[] longer = Arrays.copyOf(good, good.length + more);
            System.arraycopy(good, 0, longer, good.length, more);
            assertEquals(
                    DamageKind.EXTENDED,
                    EntryBytesEditor.damage(EntryBytesEditor.decode(longer, entry.id())));
        }
    }

    @Test
    @DisplayName("swapped sections of two entries are CORRUPT, swapped entries WRONG_KEY")
    void swapped() {
        Entry one = entries.entry(300);
        Entry two = entries.entry(TestEntries.id("x" + entries.random().nextInt(10, 99)), 300);
        EntryBytesEditor first = EntryBytesEditor.of(one, Compression.NONE);
        EntryBytesEditor second = EntryBytesEditor.of(two, Compression.NONE);
        byte[] mixed = first.bytes();
        System.arraycopy(second.bytes(), second.start(3), mixed, first.start(3), 300);
        assertEquals(
                DamageKind.CORRUPT,
                EntryBytesEditor.damage(EntryBytesEditor.decode(mixed, one.id())));
        assertEquals(DamageKind.WRONG_KEY, EntryBytesEditor.damage(second.decode(one.id())));
        byte[] otherHead = second.bytes();
        System.arraycopy(first.bytes(), 0, otherHead, 0, first.start(0));
        EntryBytesEditor.damage(EntryBytesEditor.decode(otherHead, one.id()));
    }

    @Test
    @DisplayName("two swapped sections of one entry, with their rows, are detected by the content"
            + " hash")
    void orderOfBinaries() {
        Entry two = TestEntries.entry(
                entries.id(), KernelBinaries.of(new byte[] {1, 1}, new byte[] {2, 2}));
        EntryBytesEditor frame = EntryBytesEditor.of(two, Compression.NONE);
        frame.replace(3, new byte[] {2, 2}, 2).replace(4, new byte[] {1, 1}, 2);
        LoadResult full = EntryFormat.decode(
                java.lang.foreign.MemorySegment.ofArray(frame.bytes()),
                two.id(),
                VerificationLevel.CONTENT_HASH);
        assertEquals(DamageKind.CORRUPT, EntryBytesEditor.damage(full));
    }

    @Test
    @DisplayName("an error page, text and another file are FOREIGN; no bytes are TRUNCATED")
    void foreign() {
        for (String page : List.of(
                "<html><body>503 Service Unavailable</body></html>",
                "{}",
                "\0",
                "\n",
                "GRAN",
                "x".repeat(10_000))) {
            assertEquals(
                    DamageKind.FOREIGN,
                    EntryBytesEditor.damage(
                            EntryBytesEditor.decode(page.getBytes(UTF_8), entry.id())),
                    page);
        }
        assertEquals(
                DamageKind.FOREIGN,
                EntryBytesEditor.damage(EntryBytesEditor.decode(new byte[4096], entry.id())));
        assertEquals(
                DamageKind.TRUNCATED,
                EntryBytesEditor.damage(EntryBytesEditor.decode(new byte[0], entry.id())));
        byte[] asText = new String(EntryBytesEditor.of(entry, Compression.NONE).bytes(), UTF_8)
                .getBytes(UTF_8);
        assertEquals(
                DamageKind.FOREIGN,
                EntryBytesEditor.damage(EntryBytesEditor.decode(asText, entry.id())),
                "passed through a text decoder");
    }

    @Test
    @DisplayName("versions 0 and 1 are TOO_OLD, later versions and unknown flags are TOO_NEW, if"
            + " the checksum matches; otherwise CORRUPT")
    void versions() {
        for (int version : new int[] {0, 1}) {
            EntryBytesEditor frame = EntryBytesEditor.of(entry, Compression.NONE)
                    .putShort(EntryBytesEditor.VERSION, version);
            assertEquals(DamageKind.CORRUPT, EntryBytesEditor.damage(frame.decode(entry.id())));
            assertEquals(
                    DamageKind.TOO_OLD,
                    EntryBytesEditor.damage(frame.resealed().decode(entry.id())));
        }
        for (int version : new int[] {3, 4, 0x7fff, 0x8000, 0xffff}) {
            EntryBytesEditor frame = EntryBytesEditor.of(entry, Compression.NONE)
                    .putShort(EntryBytesEditor.VERSION, version);
            assertEquals(DamageKind.CORRUPT, EntryBytesEditor.damage(frame.decode(entry.id())));
            assertEquals(
                    DamageKind.TOO_NEW,
                    EntryBytesEditor.damage(frame.resealed().decode(entry.id())));
        }
        for (int flags : new int[] {1, 2, 0x8000, 0xffff}) {
            EntryBytesEditor flagged = EntryBytesEditor.of(entry, Compression.NONE)
                    .putShort(EntryBytesEditor.FLAGS, flags);
            assertEquals(DamageKind.CORRUPT, EntryBytesEditor.damage(flagged.decode(entry.id())));
            assertEquals(
                    DamageKind.CORRUPT,
                    EntryBytesEditor.damage(flagged.resealed()
                            .putShort(EntryBytesEditor.VERSION, 7)
                            .decode(entry.id())),
                    "sound flags, a damaged version");
            assertEquals(
                    DamageKind.TOO_NEW,
                    EntryBytesEditor.damage(EntryBytesEditor.of(entry, Compression.NONE)
                            .putShort(EntryBytesEditor.FLAGS, flags)
                            .resealed()
                            .decode(entry.id())));
        }
    }

    @Test
    @DisplayName("the checksum separates damaged versions and flags from sound headers of all"
            + " 65,536 versions, with and without flags")
    void everyVersion() {
        byte[] good = EntryBytesEditor.of(entry, Compression.NONE).bytes();
        for (int version = 0; version < 1 << 16; version++) {
            if (version != EntryFormat.VERSION) {
                int flags = entries.random().nextInt(1 << 16) * (version & 1);
                EntryBytesEditor changed = new EntryBytesEditor(good)
                        .putShort(EntryBytesEditor.VERSION, version)
                        .putShort(EntryBytesEditor.FLAGS, flags);
                assertEquals(
                        DamageKind.CORRUPT, EntryBytesEditor.damage(changed.decode(entry.id())));
                assertEquals(
                        version < EntryFormat.VERSION ? DamageKind.TOO_OLD : DamageKind.TOO_NEW,
                        EntryBytesEditor.damage(changed.resealed().decode(entry.id())));
            }
        }
    }

    @Test
    @DisplayName("another version may have other numbers of sections; with further damage it is"
            + " CORRUPT, as this version")
    void otherVersions() {
        byte[] good = EntryBytesEditor.of(entry, Compression.NONE).bytes();
        for (int sections : new int[] {0, 3, 5}) {
            EntryBytesEditor other = new EntryBytesEditor(good)
                    .putShort(EntryBytesEditor.COUNT, sections)
                    .resealed();
            assertEquals(DamageKind.CORRUPT, EntryBytesEditor.damage(other.decode(entry.id())));
            for (int version : new int[] {1, 3}) {
                other.putShort(EntryBytesEditor.VERSION, version).resealed();
                assertEquals(
                        version == 1 ? DamageKind.TOO_OLD : DamageKind.TOO_NEW,
                        EntryBytesEditor.damage(other.decode(entry.id())));
            }
            other.putLong(EntryBytesEditor.COMPILE_NANOS, 1);
            assertEquals(DamageKind.CORRUPT, EntryBytesEditor.damage(other.decode(entry.id())));
        }
    }

    @Test
    @DisplayName(
            "the reserved field is ignored, so that it can be used later without a new version")
    void reserved() {
        assertEquals(
                entry.binaries(),
                assertThat(EntryBytesEditor.of(entry, Compression.NONE)
                                .putShort(EntryBytesEditor.RESERVED, 0xabcd)
                                .resealed()
                                .decode(entry.id()))
                        .isHit()
                        .binaries());
    }

    @Test
    @DisplayName("20,000 random changes of sound entries: no exception, no hit with other binaries")
    void fuzz() {
        SplittableRandom random = TestSeed.random(getClass().getName() + ".fuzz");
        byte[][] good = {
            EntryBytesEditor.of(entry, Compression.NONE).bytes(),
            EntryBytesEditor.of(entry, Compression.ZSTD).bytes(),
            EntryBytesEditor.of(entries.entry(entry.id(), 5), Compression.NONE).bytes()
        };
        List<KernelBinaries> sound = Arrays.stream(good)
                .map(bytes -> assertThat(EntryBytesEditor.decode(bytes, entry.id()))
                        .isHit()
                        .binaries())
                .toList();
        Map<DamageKind, Integer> seen = new EnumMap<>(DamageKind.class);
        for (int i = 0; i < 20_000; i++) {
            byte[] bad = ByteMutator.of(
                    good[random.nextInt(good.length)], good[random.nextInt(good.length)], random);
            if (random.nextBoolean() && bad.length >= EntryBytesEditor.TABLE) {
                bad = new EntryBytesEditor(bad).resealed().bytes();
            }
            switch (EntryBytesEditor.decode(bad, entry.id())) {
                case LoadResult.Hit hit -> {
                    assertTrue(
                            sound.contains(hit.entry().binaries()),
                            "a hit with binaries that were not stored");
                    Optional<EntryMetadata> _ = hit.entry().metadata(); // does not throw
                }
                case LoadResult.Damaged damaged -> seen.merge(damaged.damage(), 1, Integer::sum);
                case LoadResult other -> throw new AssertionError(other.toString());
            }
            assertThat(EntryFormat.decode(
                            java.lang.foreign.MemorySegment.ofArray(bad),
                            VerificationLevel.CONTENT_HASH))
                    .isOneOf(LoadResult.Hit.class, LoadResult.Damaged.class);
        }
        assertTrue(
                seen.keySet()
                        .containsAll(List.of(
                                DamageKind.TRUNCATED,
                                DamageKind.EXTENDED,
                                DamageKind.CORRUPT,
                                DamageKind.FOREIGN)),
                seen::toString);
    }
}
