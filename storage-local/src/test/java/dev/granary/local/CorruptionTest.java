package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.BootId;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.StoreStep;
import dev.granary.local.store.EntryReader;
import dev.granary.local.store.EntryRemover;
import dev.granary.local.store.SegmentStore;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * Tests of damage to a stored entry: a counted miss that is healed, never an exception or wrong
 * bytes. Its neighbours in the segment are not affected.
 */
final class CorruptionTest {
    private static final int CAPACITY = 32 << 20;

    /** One of so many truncations is tried, from a drawn one on. */
    private static final int SAMPLE = 4;

    private final TestEntries entries = new TestEntries("CorruptionTest");
    private final Entry before = entries.entry(30);
    private final Entry entry = entries.entry(40);
    private final Entry behind = entries.entry(50);

    @TempDir
    private Path temporary;

    private Path directory;
    private LocalTier tier;
    private int damaged;

    @BeforeEach
    void open() throws Exception {
        directory = temporary.resolve("cache");
        tier = openTier();
    }

    private LocalTier openTier() throws LocalDirectoryException {
        return LocalTier.open(LocalTierConfig.builder(directory)
                .capacityBytes(CAPACITY)
                .background(Runnable::run)
                .build());
    }

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        tier.close();
        StoreInvariants.check(directory);
    }

    @Test
    @DisplayName("D6 a flipped bit in any byte is a miss, healed by the next store")
    void anyByte() throws IOException {
        for (int bit = 0; bit < 8; bit++) {
            // bit 0 of every byte, each other bit of a ninth of the bytes
            for (int i = bit; i < storeInRow().length(); i += bit == 0 ? 1 : 9) {
                byte[] bad = storeInRow().read();
                bad[i] ^= (byte) (1 << ((i + bit) % 8));
                assertMissAndHeals(bad, i);
            }
        }
    }

    @Test
    @DisplayName(
            "D6 an extreme value in any field of header and table is a miss, healed by the next"
                    + " store")
    void extremes() throws IOException {
        for (int at = 0; at + Long.BYTES <= 160; at++) {
            for (byte extreme : new byte[] {0, 0x7f, (byte) 0xff}) {
                byte[] sound = storeInRow().read();
                byte[] bad = sound.clone();
                Arrays.fill(bad, at, at + Long.BYTES, extreme);
                if (!Arrays.equals(bad, sound)) {
                    assertMissAndHeals(bad, at);
                }
            }
        }
    }

    @Test
    @DisplayName(
            "D6 zeros from any byte on, as a torn write leaves them: a miss, healed by the next"
                    + " store")
    void zerosFromAnyByte() throws IOException {
        for (int from = 0; from < storeInRow().length(); from++) {
            byte[] sound = storeInRow().read();
            byte[] bad = Arrays.copyOf(Arrays.copyOf(sound, from), sound.length);
            if (!Arrays.equals(bad, sound)) {
                assertMissAndHeals(bad, from);
            }
        }
    }

    @Test
    @DisplayName("D6 foreign content in place of an entry: a miss, healed by the next store")
    void foreignContent() throws IOException {
        assertMissAndHeals("<html>404 not found</html>".getBytes(StandardCharsets.UTF_8), 0);
        int length = storeInRow().length();
        assertMissAndHeals(entries.bytes(length), 1);
        assertMissAndHeals(new byte[length], 2);
        byte[] sound = storeInRow().read();
        // the entry itself, at a wrong offset
        for (int shift = 1; shift < sound.length; shift++) {
            byte[] moved = new byte[sound.length];
            System.arraycopy(sound, 0, moved, shift, sound.length - shift);
            storeInRow();
            assertMissAndHeals(moved, shift);
        }
    }

    @Test
    @DisplayName("D6 random bytes between an entry and the next unit do no harm")
    void trailingJunk() throws IOException {
        EntryBytesOnDisk onDisk = storeInRow();
        byte[] junk = Arrays.copyOf(
                onDisk.read(), (int) EntryLocation.units(onDisk.length()) * EntryLocation.UNIT);
        Arrays.fill(junk, onDisk.length(), junk.length, (byte) 0xff);
        onDisk.write(junk);
        assertThat(tier.load(entry.id())).isHitOf(entry);
        assertNeighbours();
    }

    @Test
    @DisplayName("D6 two entries swapped: two misses, both healed")
    void swapped() throws IOException {
        storeInRow();
        Entry one = entries.entry(TestEntries.id("one"), 40);
        Entry other = entries.entry(TestEntries.id("two"), 40);
        tier.store(one);
        tier.store(other);
        EntryBytesOnDisk mine = EntryBytesOnDisk.of(directory, one.id());
        EntryBytesOnDisk others = EntryBytesOnDisk.of(directory, other.id());
        assertEquals(mine.length(), others.length());
        byte[] bytes = mine.read();
        mine.write(others.read());
        others.write(bytes);
        assertThat(tier.load(one.id())).isDamaged(DamageKind.WRONG_KEY);
        assertThat(tier.load(other.id())).isDamaged(DamageKind.WRONG_KEY);
        assertThat(tier.store(one)).isStored();
        assertThat(tier.store(other)).isStored();
        assertThat(tier.load(one.id())).isHitOf(one);
        assertThat(tier.load(other.id())).isHitOf(other);
        assertNeighbours();
        assertEquals(2, tier.statistics().healed());
    }

    @Test
    @DisplayName("D6 a segment that ends at any byte of an entry: a miss, healed by the next store;"
            + " earlier entries hit")
    void anyTruncation() throws Exception {
        assertTruncationsHeal(TestSeed.random("truncation").nextInt(SAMPLE), SAMPLE);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("D6 the same at each byte")
    void eachTruncation() throws Exception {
        assertTruncationsHeal(0, 1);
    }

    private void assertTruncationsHeal(int first, int step) throws Exception {
        EntryBytesOnDisk onDisk = storeInRow();
        tier.close();
        DirectoryImage sound = DirectoryImage.of(directory);
        for (int left = first; left < onDisk.length(); left += step) {
            sound.writeTo(directory);
            onDisk.cut(left);
            tier = openTier();
            assertCutHeals(left);
            tier.close();
            if (left / step % 8 == 0) {
                StoreInvariants.check(directory);
            }
        }
    }

    @Test
    @DisplayName(
            "D6 a segment truncated under the mapping of an open tier: a miss, healed by the next"
                    + " store; earlier entries hit")
    void truncationUnderMapping() throws Exception {
        Entry large = entries.entry(entry.id(), 20_000);
        for (int left = 0; left < 20_000; left += 700) {
            tier.discard(large);
            tier.discard(entry);
            tier.discard(before);
            tier.discard(behind);
            tier.store(before);
            tier.store(large);
            tier.store(behind);
            assertThat(tier.load(large.id())).isHitOf(large);
            EntryBytesOnDisk.of(directory, large.id()).cut(left);
            assertThat(tier.load(large.id())).isMiss();
            assertThat(tier.load(behind.id())).isMiss();
            assertThat(tier.load(before.id())).isHitOf(before);
            assertThat(tier.store(large)).isStored();
            assertThat(tier.store(behind)).isStored();
            assertThat(tier.load(large.id())).isHitOf(large);
            assertNeighbours();
            assertEquals(true, tier.sweepNow());
            assertThat(tier.load(large.id())).isHitOf(large);
            assertNeighbours();
        }
    }

    @Test
    @DisplayName(
            "D6 a segment truncated under the mapping of a tier that only stores, or only sweeps:"
                    + " the tier continues")
    void truncationUnderWriter() throws Exception {
        for (int left = -64; left < 12_000; left += 3_000) {
            Entry large = entries.entry(20_000);
            Entry replaced = entries.entry(large.id(), 20_000);
            tier.store(large);
            EntryBytesOnDisk onDisk = EntryBytesOnDisk.of(directory, large.id());
            onDisk.cut(left == -64 ? (int) -onDisk.offset() : left);
            assertEquals(true, tier.sweepNow());
            StoreResult first = tier.store(replaced);
            // the truncated file is mapped anew for the next store
            if (first instanceof StoreResult.Failed) {
                assertThat(tier.store(replaced)).as(first.toString()).isStored();
            }
            assertThat(tier.load(large.id())).isHitOf(replaced);
        }
    }

    @Test
    @DisplayName("D6 the lookup that finds a damaged entry removes it; an entry of another version"
            + " stays for that version")
    void removedByLookup() throws IOException {
        EntryBytesOnDisk onDisk = storeInRow();
        byte[] bad = onDisk.read();
        bad[bad.length - 1] ^= 1;
        onDisk.write(bad);
        assertThat(tier.load(entry.id())).isDamaged();
        assertThat(tier.load(entry.id())).isAbsent();
        EntryBytesOnDisk wrongVersion = storeInRow();
        byte[] flipped = wrongVersion.read();
        flipped[9] ^= 2;
        wrongVersion.write(flipped);
        assertThat(tier.load(entry.id()))
                .as("its checksum shows that it is no later version")
                .isDamaged(DamageKind.CORRUPT);
        assertThat(tier.load(entry.id())).isAbsent();
        EntryBytesOnDisk newer = storeInRow();
        byte[] newerVersion = newer.read();
        TestEntries.setLaterVersion(newerVersion, 0);
        newer.write(newerVersion);
        for (int i = 0; i < 2; i++) {
            assertThat(tier.load(entry.id())).isDamaged(DamageKind.TOO_NEW);
        }
        assertEquals(3, StoreInvariants.listed(tier).size());
        assertThat(tier.store(entry)).isStored();
        assertThat(tier.load(entry.id())).isHitOf(entry);
    }

    @Test
    @DisplayName("D10 removing a damaged entry does not affect its newer replacement")
    void removalIsExact() throws IOException {
        EntryBytesOnDisk onDisk = storeInRow();
        byte[] bad = onDisk.read();
        bad[bad.length - 1] ^= 1;
        onDisk.write(bad);
        SegmentStore store =
                SegmentStore.share(directory.toRealPath(), BootId.mark(), StoreStep.Listener.NONE);
        try (Arena memory = Arena.ofConfined()) {
            EntryReader reader = new EntryReader(Id::hash);
            EntryReader.LocatedEntry found =
                    reader.find(Objects.requireNonNull(store.files()), entry.id(), memory);
            assertThat(found.result()).isDamaged();
            assertThat(tier.store(entry)).isStored();
            assertFalse(new EntryRemover(store).remove(found));
        } finally {
            store.release();
        }
        assertThat(tier.load(entry.id())).isHitOf(entry);
    }

    @Test
    @DisplayName("D9 of several ids with one hash, damage to one does not affect the others")
    void sameHash() throws Exception {
        Sha256 same = Sha256.of(new byte[] {1});
        tier.close();
        directory = temporary.resolve("same");
        tier = LocalTier.open(
                LocalTierConfig.builder(directory)
                        .capacityBytes(CAPACITY)
                        .background(Runnable::run)
                        .build(),
                BootId.mark(),
                _ -> same,
                StoreStep.Listener.NONE);
        List<Entry> all = List.of(before, entry, behind);
        for (Entry victim : all) {
            for (Entry each : all) {
                tier.store(each);
            }
            int length = EntryBytesOnDisk.of(directory, _ -> same, victim.id()).length();
            for (int i = 0; i < length; i++) {
                EntryBytesOnDisk onDisk = EntryBytesOnDisk.of(directory, _ -> same, victim.id());
                byte[] bad = onDisk.read();
                bad[i] ^= 1;
                onDisk.write(bad);
                for (Entry each : all) {
                    if (each != victim) {
                        assertThat(tier.load(each.id())).isHitOf(each);
                    }
                }
                assertThat(tier.load(victim.id())).isDamaged();
                assertThat(tier.store(victim)).isStored();
                for (Entry each : all) {
                    assertThat(tier.load(each.id())).isHitOf(each);
                }
            }
        }
        tier.clear(); // other tiers do not use this hash function
    }

    /**
     * Stores the three entries again, one after the other; returns the location of the middle one.
     */
    private EntryBytesOnDisk storeInRow() throws IOException {
        for (Entry each : List.of(before, entry, behind)) {
            tier.discard(each);
        }
        for (Entry each : List.of(before, entry, behind)) {
            assertThat(tier.store(each)).isStored();
        }
        return EntryBytesOnDisk.of(directory, entry.id());
    }

    private void assertNeighbours() {
        assertThat(tier.load(before.id())).isHitOf(before);
        assertThat(tier.load(behind.id())).isHitOf(behind);
    }

    /** Replaces the current bytes of the entry by {@code bad}. */
    private void assertMissAndHeals(byte[] bad, int variant) throws IOException {
        if (!(tier.load(entry.id()) instanceof LoadResult.Hit)) {
            storeInRow();
        }
        EntryBytesOnDisk.of(directory, entry.id()).write(bad);
        if (variant % 2 == 0) { // healed by a lookup and a store, or by a store alone
            LoadResult found = tier.load(entry.id());
            assertThat(found).as("variant " + variant).isDamaged();
        }
        assertNeighbours();
        assertThat(tier.store(entry)).isStored();
        assertThat(tier.load(entry.id())).isHitOf(entry);
        assertNeighbours();
        assertEquals(++damaged, tier.statistics().healed());
    }

    private void assertCutHeals(int left) {
        assertThat(tier.load(before.id())).isHitOf(before);
        if (left % 2 == 0) {
            assertThat(tier.load(entry.id())).isDamaged();
        }
        assertThat(tier.load(behind.id())).isMiss();
        assertThat(tier.store(entry)).isStored();
        assertThat(tier.store(behind)).isStored();
        assertThat(tier.load(entry.id())).isHitOf(entry);
        assertNeighbours();
        assertEquals(2, tier.statistics().healed());
    }
}
