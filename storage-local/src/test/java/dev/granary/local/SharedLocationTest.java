package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.local.config.EvictionPolicy;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.BootId;
import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.StatePage;
import dev.granary.local.file.StoreStep;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Tests of slots with one location, after damage, a power cut or removed files: the sound entry
 * there stays, and counts are right.
 */
@Timeout(600)
final class SharedLocationTest {
    private static final int SIZE = 10_000;
    private static final int CAPACITY = 32 << 20; // segments of 1 MiB
    private static final int RUNS = Integer.getInteger("granary.corruption.runs", 60);

    private final SplittableRandom random = TestSeed.random("SharedLocationTest");

    @TempDir
    private Path temporary;

    private Path directory() {
        return temporary.resolve("cache");
    }

    private LocalTier open(long boot) throws LocalDirectoryException {
        LocalTierConfig config = LocalTierConfig.builder(directory())
                .capacityBytes(CAPACITY)
                .policy(EvictionPolicy.FIFO)
                .background(Runnable::run)
                .build();
        return LocalTier.open(config, boot, id -> id.hash(), StoreStep.Listener.NONE);
    }

    private List<Entry> store(LocalTier tier, String prefix, int count, int size) {
        List<Entry> entries = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Entry entry = SharedEntries.entry(prefix + i, size + 100 * (i % 7));
            assertThat(tier.store(entry)).isStored();
            entries.add(entry);
        }
        return entries;
    }

    private static int hits(LocalTier tier, List<Entry> entries) {
        int hits = 0;
        for (Entry entry : entries) {
            if (tier.load(entry.id()) instanceof LoadResult.Hit hit) {
                assertEquals(entry.binaries(), hit.entry().binaries());
                hits++;
            }
        }
        return hits;
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName(
            "D4 L2 the newest segment is lost but the index is not: no entry stored afterwards is"
                    + " lost, and counts equal the usage")
    void newestSegmentLost(boolean stateToo) throws Exception {
        List<Entry> before;
        try (LocalTier tier = open(BootId.mark() + 1)) {
            before = store(tier, "before", 200, SIZE);
        }
        List<Path> segments = StoreInvariants.segmentFiles(directory());
        Files.delete(segments.getLast());
        if (stateToo) {
            Files.delete(directory().resolve("v2/state"));
        }
        try (LocalTier tier = open(BootId.mark())) {
            List<Entry> after = store(tier, "after", 200, SIZE / 2);
            assertEquals(tier.usage().entryBytes(), tier.usedBytes());
            long entries = tier.usage().entries();
            assertEquals(
                    hits(tier, before) + after.size(),
                    entries,
                    "entries without a file were removed by the first change");
            tier.reclaim();
            assertEquals(after.size(), hits(tier, after));
            assertEquals(tier.usage().entryBytes(), tier.usedBytes());
            assertEquals(StoreInvariants.entryBytes(tier), tier.usedBytes());
        }
        StoreInvariants.check(directory());
    }

    @Test
    @DisplayName("D6 F10 a flipped bit that gives two slots one location loses at most one entry")
    void oneBit() throws Exception {
        List<Entry> entries;
        try (LocalTier tier = open(BootId.mark())) {
            entries = store(tier, "entry", 30, 20);
        }
        DirectoryImage sound = DirectoryImage.of(directory());
        String index = sound.only("v2/index-");
        List<Integer> used = usedSlots(sound.get(index));
        int tried = 0;
        for (int slot : used) {
            for (int other : used) {
                long difference =
                        location(sound.get(index), slot) ^ location(sound.get(index), other);
                if (Long.bitCount(difference) == 1) {
                    tried++;
                    byte[] bad = sound.get(index).clone();
                    setLocation(bad, slot, location(bad, other));
                    sound.with(index, bad).writeTo(directory());
                    try (LocalTier tier = open(BootId.mark())) {
                        assertTrue(tier.sweepNow());
                        assertEquals(tier.usage().entryBytes(), tier.usedBytes());
                        assertEquals(
                                entries.size() - 1,
                                tier.usage().entries(),
                                "the slot with another's location was removed");
                        assertEquals(entries.size() - 1, hits(tier, entries));
                    }
                    StoreInvariants.check(directory());
                }
            }
        }
        assertTrue(tried > 0, "no two locations differ in one bit");
    }

    @Test
    @DisplayName(
            "D6 F10 random damage of the index: each damaged slot loses at most one entry; counts"
                    + " equal the usage after a sweep")
    void randomDamage() throws Exception {
        List<Entry> entries;
        try (LocalTier tier = open(BootId.mark())) {
            entries = store(tier, "entry", 40, 500);
            for (int i = 0; i < entries.size(); i += 5) {
                tier.discard(entries.get(i));
            }
            entries.removeIf(entry -> !StoreInvariants.isPresent(tier, entry));
        }
        DirectoryImage sound = DirectoryImage.of(directory());
        String index = sound.only("v2/index-");
        List<Integer> used = usedSlots(sound.get(index));
        for (int run = 0; run < RUNS; run++) {
            byte[] bad = sound.get(index).clone();
            int damaged = 1 + random.nextInt(3);
            for (int i = 0; i < damaged; i++) {
                int slot = used.get(random.nextInt(used.size()));
                int other = used.get(random.nextInt(used.size()));
                switch (random.nextInt(4)) {
                    case 0 -> setLocation(bad, slot, location(bad, other));
                    case 1 ->
                        System.arraycopy(
                                bad,
                                other * EntryIndex.SLOT_BYTES + 8,
                                bad,
                                slot * EntryIndex.SLOT_BYTES + 8,
                                16);
                    case 2 -> setLocation(bad, slot, location(bad, slot) + random.nextInt(-20, 20));
                    default ->
                        bad[slot * EntryIndex.SLOT_BYTES + 8 + random.nextInt(24)] ^=
                                (byte) (1 << random.nextInt(8));
                }
            }
            sound.with(index, bad).writeTo(directory());
            String what = "run " + run + ", " + damaged + " slots damaged";
            try (LocalTier tier = open(BootId.mark())) {
                assertTrue(tier.sweepNow(), what);
                assertEquals(tier.usage().entryBytes(), tier.usedBytes(), what);
                assertTrue(
                        hits(tier, entries) >= entries.size() - damaged,
                        () -> what + ": " + hits(tier, entries) + " of " + entries.size());
                assertEquals(tier.usage().entryBytes(), tier.usedBytes(), what);
                assertEquals(0, tier.statistics().inputOutputErrors(), what);
            }
            StoreInvariants.check(directory());
        }
    }

    @Test
    @DisplayName(
            "D6 F10 damaged counts are never reported as negative, also before the first change")
    void negativeCounts() throws Exception {
        List<Entry> entries;
        try (LocalTier tier = open(BootId.mark())) {
            entries = store(tier, "entry", 10, 500);
        }
        DirectoryImage sound = DirectoryImage.of(directory());
        long bytes;
        try (LocalTier tier = open(BootId.mark())) {
            bytes = tier.usedBytes();
        }
        for (int word : new int[] {
            StatePage.LIVE_UNITS,
            StatePage.LIVE_ENTRIES,
            StatePage.OCCUPIED_SLOTS,
            StatePage.SEALED_UNITS
        }) {
            byte[] state = sound.get("v2/state").clone();
            ByteBuffer.wrap(state).order(ByteOrder.LITTLE_ENDIAN).putLong(word, -1_000_000);
            sound.with("v2/state", state).writeTo(directory());
            try (LocalTier tier = open(BootId.mark())) {
                assertEquals(bytes, tier.usedBytes(), "word " + word);
                assertTrue(
                        tier.diskBytes() >= bytes && tier.diskBytes() <= bytes + EntryLocation.UNIT,
                        () -> "word " + word + ": " + tier.diskBytes());
                assertEquals(bytes, tier.usage().entryBytes());
                assertThat(tier.load(entries.getFirst().id())).isHitOf(entries.getFirst());
            }
        }
    }

    @Test
    @DisplayName("D6 counts from before a power cut are not reported, even without a change since")
    void countsOfAnotherMoment() throws Exception {
        byte[] older;
        List<Entry> entries;
        try (LocalTier tier = open(BootId.mark() + 1)) {
            store(tier, "before", 3, SIZE);
            older = DirectoryImage.of(directory()).get("v2/state").clone();
            entries = store(tier, "after", 5, SIZE);
        }
        DirectoryImage.of(directory()).with("v2/state", older).writeTo(directory());
        try (LocalTier tier = open(BootId.mark())) {
            assertEquals(entries.size(), hits(tier, entries));
            assertEquals(StoreInvariants.entryBytes(tier), tier.usedBytes());
            assertTrue(
                    tier.diskBytes() >= tier.usedBytes(),
                    () -> tier.diskBytes() + " bytes of files for " + tier.usedBytes());
        }
    }

    @Test
    @DisplayName("D4 D6 a sweep detects an append position older than the index: no sound entry is"
            + " overwritten, counts are right")
    void endOfAnotherMoment() throws Exception {
        byte[] older;
        List<Entry> entries;
        try (LocalTier tier = open(BootId.mark())) {
            entries = new ArrayList<>(store(tier, "before", 3, SIZE));
            older = DirectoryImage.of(directory()).get("v2/state").clone();
            entries.addAll(store(tier, "after", 5, SIZE));
        }
        // it has the mark of this boot: the power cut is not detected
        DirectoryImage.of(directory()).with("v2/state", older).writeTo(directory());
        try (LocalTier tier = open(BootId.mark())) {
            assertTrue(tier.sweepNow());
            assertEquals(StoreInvariants.entryBytes(tier), tier.usedBytes());
            assertTrue(
                    tier.diskBytes() >= tier.usedBytes(),
                    () -> tier.diskBytes() + " bytes of files for " + tier.usedBytes());
            entries.addAll(store(tier, "new", 5, SIZE));
            assertEquals(entries.size(), hits(tier, entries));
        }
        StoreInvariants.check(directory());
    }

    private static List<Integer> usedSlots(byte[] table) {
        List<Integer> used = new ArrayList<>();
        for (int slot = 0; slot < table.length / EntryIndex.SLOT_BYTES; slot++) {
            if (location(table, slot) != 0) {
                used.add(slot);
            }
        }
        return used;
    }

    private static long location(byte[] table, int slot) {
        return words(table).getLong(slot * EntryIndex.SLOT_BYTES + 8);
    }

    private static void setLocation(byte[] table, int slot, long location) {
        words(table).putLong(slot * EntryIndex.SLOT_BYTES + 8, location);
    }

    private static ByteBuffer words(byte[] table) {
        return ByteBuffer.wrap(table).order(ByteOrder.LITTLE_ENDIAN);
    }
}
