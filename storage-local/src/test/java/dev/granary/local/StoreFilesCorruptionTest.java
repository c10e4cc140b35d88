package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.FileTrees;
import dev.granary.local.config.EvictionPolicy;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.BootId;
import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.StatePage;
import dev.granary.local.file.StoreLayout;
import dev.granary.local.file.StoreStep;
import dev.granary.testing.InteractiveProcess;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Tests of damage to the store's own files: only the damaged part is lost, and the next store
 * works.
 */
@Timeout(600)
final class StoreFilesCorruptionTest {
    private static final int CAPACITY = 32 << 20;
    private static final int ENTRIES = 6; // in each of two segments
    private static final String STATE = "v2/state";
    private static final String FIRST_SEGMENT = "v2/segments/1";
    private static final int STATE_WORDS_END = 330;

    private final List<Entry> entries = new ArrayList<>();
    private final SplittableRandom random = TestSeed.random("StoreFilesCorruptionTest");

    @TempDir
    private Path temporary;

    private Path directory;
    private DirectoryImage sound = DirectoryImage.empty();
    private String index;
    private int variants;

    @BeforeEach
    void build() throws Exception {
        directory = temporary.resolve("cache");
        // each boot of the machine begins a segment
        for (long boot : new long[] {BootId.mark() + 1, BootId.mark()}) {
            LocalTierConfig config = LocalTierConfig.builder(directory)
                    .capacityBytes(CAPACITY)
                    .background(_ -> {})
                    .build();
            try (LocalTier tier =
                    LocalTier.open(config, boot, id -> id.hash(), StoreStep.Listener.NONE)) {
                for (int i = 0; i < ENTRIES; i++) {
                    Entry entry = SharedEntries.entry("entry" + entries.size(), 60 + 30 * i);
                    entries.add(entry);
                    assertThat(tier.store(entry)).isStored();
                }
                sound = DirectoryImage.of(directory); // before a sweep has merged both segments
            }
        }
        index = sound.only("v2/index-");
        assertEquals(4, sound.names().size(), sound.names().toString());
    }

    private LocalTier open() throws LocalDirectoryException {
        // FIFO records no uses
        return LocalTier.open(LocalTierConfig.builder(directory)
                .capacityBytes(CAPACITY)
                .policy(EvictionPolicy.FIFO)
                .background(Runnable::run)
                .build());
    }

    @Test
    @DisplayName("D6 a flipped bit in any byte of the state page loses nothing")
    @Tag("exhaustive")
    void stateFlips() throws Exception {
        for (int at = 0; at < STATE_WORDS_END; at++) {
            assertLosesAtMost(0, flipped(sound, STATE, at, at % 8), "state byte " + at);
            if (at % Long.BYTES == Long.BYTES - 1) {
                assertLosesAtMost(
                        0, flipped(sound, STATE, at, 7), "state byte " + at + ", the sign");
            }
        }
    }

    @Test
    @DisplayName("D6 an extreme value in any word of the state page loses nothing")
    @Tag("exhaustive")
    void stateWords() throws Exception {
        for (int at = 0; at < STATE_WORDS_END; at += Long.BYTES) {
            for (long value :
                    new long[] {0, -1, Long.MAX_VALUE, 1L << 40, EntryLocation.LAST_SEGMENT}) {
                byte[] state = sound.get(STATE).clone();
                ByteBuffer.wrap(state).order(ByteOrder.LITTLE_ENDIAN).putLong(at, value);
                assertLosesAtMost(0, sound.with(STATE, state), "state word " + at + " = " + value);
            }
        }
    }

    @Test
    @DisplayName(
            "D6 a state page that is all zeros, all ones, random, truncated, missing or too long"
                    + " loses nothing")
    void stateAsAWhole() throws Exception {
        byte[] ones = new byte[StatePage.BYTES];
        Arrays.fill(ones, (byte) 0xff);
        byte[] junk = new byte[StatePage.BYTES];
        random.nextBytes(junk);
        assertLosesAtMost(0, sound.with(STATE, new byte[StatePage.BYTES]), "zeros");
        assertLosesAtMost(0, sound.with(STATE, ones), "ones");
        assertLosesAtMost(0, sound.with(STATE, junk), "random");
        assertLosesAtMost(0, sound.without(STATE), "missing");
        assertLosesAtMost(
                0,
                sound.with(STATE, Arrays.copyOf(sound.get(STATE), 3 * StatePage.BYTES)),
                "too long");
        for (int length = 0;
                length < StatePage.BYTES;
                length += length < STATE_WORDS_END ? 5 : 701) {
            assertLosesAtMost(
                    0,
                    sound.with(STATE, Arrays.copyOf(sound.get(STATE), length)),
                    "cut to " + length);
        }
    }

    @Test
    @DisplayName("D6 a flipped bit in any byte of the index loses at most the entry of that slot")
    @Tag("exhaustive")
    void indexFlips() throws Exception {
        List<Integer> slots = usedSlots();
        slots.add((slots.getFirst() + 1) % EntryIndex.MIN_SLOTS); // most likely never occupied
        slots.add(0);
        slots.add(EntryIndex.MIN_SLOTS - 1);
        for (int slot : slots) {
            for (int at = 0; at < EntryIndex.SLOT_BYTES; at++) {
                assertLosesAtMost(
                        1,
                        flipped(sound, index, slot * EntryIndex.SLOT_BYTES + at, (slot + at) % 8),
                        "slot " + slot + " byte " + at);
            }
        }
    }

    @Test
    @DisplayName("D6 a word of a slot with an extreme value, or with that of another slot, loses at"
            + " most the entries of these slots")
    @Tag("exhaustive")
    void indexWords() throws Exception {
        List<Integer> slots = usedSlots();
        byte[] table = sound.get(index);
        for (int i = 0; i < slots.size(); i++) {
            int slot = slots.get(i) * EntryIndex.SLOT_BYTES;
            int other = slots.get((i + 1) % slots.size()) * EntryIndex.SLOT_BYTES;
            for (int at = 0; at < EntryIndex.SLOT_BYTES; at += Long.BYTES) {
                for (int value : new int[] {0, 1, 0x7f, 0xff}) {
                    byte[] bad = table.clone();
                    Arrays.fill(bad, slot + at, slot + at + Long.BYTES, (byte) value);
                    assertLosesAtMost(
                            1,
                            sound.with(index, bad),
                            "slot " + i + " word " + at + " of bytes " + value);
                }
                byte[] copied = table.clone();
                System.arraycopy(table, other + at, copied, slot + at, Long.BYTES);
                assertLosesAtMost(
                        1,
                        sound.with(index, copied),
                        "slot " + i + " word " + at + " of another slot");
                byte[] swapped = copied.clone();
                System.arraycopy(table, slot + at, swapped, other + at, Long.BYTES);
                assertLosesAtMost(
                        2,
                        sound.with(index, swapped),
                        "slot " + i + " word " + at + " swapped with that of another slot");
            }
        }
    }

    @Test
    @DisplayName(
            "D6 a truncated index keeps the remaining slots, whether it ends at a slot border or"
                    + " between two")
    void indexCut() throws Exception {
        byte[] table = sound.get(index);
        List<Integer> lengths = new ArrayList<>(List.of(
                0, 1, 31, 4095, 4096, 4097, table.length / 2, table.length - 1, table.length + 31));
        for (int slot : usedSlots()) {
            lengths.addAll(List.of(
                    slot * EntryIndex.SLOT_BYTES,
                    slot * EntryIndex.SLOT_BYTES + 13,
                    (slot + 1) * EntryIndex.SLOT_BYTES));
        }
        for (int slot = 0; slot < EntryIndex.MIN_SLOTS; slot += 97) {
            lengths.add(slot * EntryIndex.SLOT_BYTES);
        }
        for (int length : lengths) {
            assertLosesAtMost(
                    entries.size(),
                    sound.with(index, Arrays.copyOf(table, length)),
                    "index of " + length + " bytes");
        }
    }

    @Test
    @DisplayName("D6 an index that is too long, or followed by random bytes, loses nothing")
    void indexExtended() throws Exception {
        byte[] table = sound.get(index);
        byte[] junk = Arrays.copyOf(table, 2 * table.length);
        random.nextBytes(junk);
        System.arraycopy(table, 0, junk, 0, table.length);
        assertLosesAtMost(
                0, sound.with(index, Arrays.copyOf(table, table.length + 5000)), "a little longer");
        assertLosesAtMost(
                0, sound.with(index, Arrays.copyOf(table, 2 * table.length)), "twice as long");
        assertLosesAtMost(0, sound.with(index, junk), "twice as long, with junk");
    }

    @Test
    @DisplayName(
            "D6 an index that is missing, a directory or a link: all lookups miss, and the next"
                    + " store works")
    void indexReplaced() throws Exception {
        assertLosesAtMost(entries.size(), sound.without(index), "missing");
        assertLosesAtMost(
                entries.size(),
                sound.without(index),
                () -> Files.createDirectory(directory.resolve(index)),
                "a directory");
        assertLosesAtMost(
                entries.size(),
                sound.without(index),
                () -> {
                    Files.createDirectory(directory.resolve(index));
                    Files.writeString(directory.resolve(index).resolve("foreign"), "x");
                },
                "a full directory");
        Path outside = Files.write(temporary.resolve("outside"), sound.get(index));
        assertLosesAtMost(
                entries.size(),
                sound.without(index),
                () -> Files.createSymbolicLink(directory.resolve(index), outside),
                "a link");
        assertArrayEquals(sound.get(index), Files.readAllBytes(outside), "written through a link");
        Path next = directory.resolve("v2/index-"
                + Long.toHexString(Long.parseLong(index.substring("v2/index-".length()), 16) + 1));
        assertLosesAtMost(
                entries.size(),
                sound.without(index),
                () -> Files.createDirectories(next.resolve("x")),
                "a directory in the way");
    }

    @Test
    @DisplayName(
            "D6 foreign files with names of store files lose nothing, and the next sweep removes"
                    + " them")
    void junkFiles() throws Exception {
        byte[] junk = new byte[200_000];
        random.nextBytes(junk);
        for (String name : List.of(
                "v2/index-ffffff",
                "v2/index-fffffffffffffff",
                "v2/segments/abc",
                "v2/segments/3",
                "v2/segments/ffffff")) {
            DirectoryImage bad = sound.with(name, junk);
            assertLosesAtMost(0, bad, name);
            assertFalse(
                    Files.exists(directory.resolve(name))
                            && Arrays.equals(junk, Files.readAllBytes(directory.resolve(name))),
                    name);
            assertLosesAtMost(
                    0, bad.with(STATE, new byte[StatePage.BYTES]), name + " and no state");
            assertLosesAtMost(
                    0,
                    sound.with(name, new byte[0]).with(STATE, new byte[StatePage.BYTES]),
                    name + " empty and no state");
        }
        for (String name : List.of(
                "v2/index-",
                "v2/index-0",
                "v2/index-xyz",
                "v2/other",
                "v2/segments/0",
                "v2/segments/01",
                "v2/segments/xyz",
                "v2/segments/1000000",
                "v2/segments/fffffffffffffffffff")) {
            assertLosesAtMost(0, sound.with(name, junk), name);
            assertArrayEquals(
                    junk, Files.readAllBytes(directory.resolve(name)), "foreign files stay");
        }
        assertLosesAtMost(
                0,
                sound,
                () -> Files.createDirectories(directory.resolve("v2/segments/abc/x")),
                "a directory named like a segment");
    }

    @Test
    @DisplayName("D6 damage to a segment's header loses nothing")
    @Tag("exhaustive")
    void segmentHeaders() throws Exception {
        for (String segment : sound.names().stream()
                .filter(name -> name.startsWith("v2/segments/"))
                .toList()) {
            for (int at = 0; at < EntryLocation.UNIT; at++) {
                assertLosesAtMost(0, flipped(sound, segment, at, at % 8), segment + " byte " + at);
                assertLosesAtMost(
                        0,
                        flipped(sound, segment, at, (at + 1) % 2),
                        segment + " byte " + at + ", another bit");
            }
            for (int value : new int[] {0, 0xff}) {
                byte[] bad = sound.get(segment).clone();
                Arrays.fill(bad, 0, EntryLocation.UNIT, (byte) value);
                assertLosesAtMost(
                        0, sound.with(segment, bad), segment + " header of bytes " + value);
            }
        }
    }

    @Test
    @DisplayName(
            "D6 a segment that is missing, empty, a directory or a link loses its own entries only")
    void segmentsReplaced() throws Exception {
        for (String segment : sound.names().stream()
                .filter(name -> name.startsWith("v2/segments/"))
                .toList()) {
            assertLosesAtMost(ENTRIES, sound.without(segment), segment + " missing");
            assertLosesAtMost(ENTRIES, sound.with(segment, new byte[0]), segment + " empty");
            byte[] longer = Arrays.copyOf(sound.get(segment), 3 << 20);
            assertLosesAtMost(0, sound.with(segment, longer), segment + " too long");
            assertLosesAtMost(
                    ENTRIES,
                    sound.without(segment),
                    () -> Files.createDirectory(directory.resolve(segment)),
                    "a directory");
            assertLosesAtMost(
                    ENTRIES,
                    sound.without(segment),
                    () -> Files.createDirectories(directory.resolve(segment).resolve("foreign")),
                    "a full directory");
            Path outside = Files.write(temporary.resolve("outside"), sound.get(segment));
            assertLosesAtMost(
                    ENTRIES,
                    sound.without(segment),
                    () -> Files.createSymbolicLink(directory.resolve(segment), outside),
                    "a link");
            assertArrayEquals(
                    sound.get(segment), Files.readAllBytes(outside), "written through a link");
        }
        DirectoryImage none = sound.without(FIRST_SEGMENT)
                .without(sound.without(FIRST_SEGMENT).only("v2/segments/"));
        assertLosesAtMost(entries.size(), none, "no segments");
    }

    @Test
    @DisplayName("D6 a damaged length in the index does not empty the store at an eviction")
    void damagedLengthAndEviction() throws Exception {
        for (int at = 16; at < 20; at++) {
            flipped(sound, index, usedSlots().getFirst() * EntryIndex.SLOT_BYTES + at, 6)
                    .writeTo(directory);
            LocalTierConfig config = LocalTierConfig.builder(directory)
                    .capacityBytes(CAPACITY)
                    .background(Runnable::run)
                    .build();
            try (LocalTier tier = LocalTier.open(config)) {
                tier.setCapacity(tier.diskBytes() - 1); // 1/16 must be evicted
                int left = 0;
                for (Entry entry : entries) {
                    left += tier.load(entry.id()) instanceof LoadResult.Hit ? 1 : 0;
                }
                assertTrue(left >= entries.size() / 2, "byte " + at + ": " + left + " left");
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"state", "index", "segment"})
    @DisplayName("D6 a process continues when a file that it has mapped is truncated to nothing,"
            + " missing or zeroed")
    @Tag("exhaustive")
    void underARunningProcess(String victim) throws Exception {
        for (String how : List.of("cut", "remove", "zero")) {
            sound.writeTo(directory);
            Path file = directory.resolve(
                    switch (victim) {
                        case "state" -> STATE;
                        case "index" -> index;
                        default -> FIRST_SEGMENT;
                    });
            try (InteractiveProcess reader = SurvivingReader.start(directory, CAPACITY)) {
                // compiled code meets the damage
                assertEquals("Hit", reader.request("loads entry0 60 30000"));
                reader.send("loads entry0 60 20000");
                damage(file, how);
                assertFalse(reader.answer().equals("WRONG"));
                assertFalse(reader.request("loads entry0 60 20000").equals("WRONG"));
                reader.request("store fresh 100");
                reader.request("store entry0 60");
                String stored = reader.request("store entry0 60");
                assertTrue(
                        List.of("Stored", "Duplicate").contains(stored),
                        victim + " " + how + ": " + stored);
                assertEquals("Hit", reader.request("load entry0 60"), victim + " " + how);
            }
            // the other process may still map what this one misses
            try (LocalTier tier = open()) {
                StoreResult stored = tier.store(entries.getFirst());
                assertThat(stored).as(victim).isStoredOrDuplicate();
                assertTrue(hits(tier, victim) > 0);
                assertThat(tier.load(entries.getFirst().id())).isHitOf(entries.getFirst());
            }
            StoreInvariants.check(directory);
        }
    }

    private static void damage(Path file, String how) throws IOException {
        switch (how) {
            case "cut" -> {
                try (RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
                    out.setLength(0);
                }
            }
            case "remove" -> Files.delete(file);
            default -> {
                try (RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
                    out.write(new byte[(int) out.length()]);
                }
            }
        }
    }

    private List<Integer> usedSlots() {
        ByteBuffer table = ByteBuffer.wrap(sound.get(index));
        List<Integer> used = new ArrayList<>();
        for (int slot = 0; slot < table.limit() / EntryIndex.SLOT_BYTES; slot++) {
            if (table.getLong(slot * EntryIndex.SLOT_BYTES) != 0) {
                used.add(slot);
            }
        }
        assertEquals(entries.size(), used.size());
        return used;
    }

    private static DirectoryImage flipped(DirectoryImage tree, String name, int at, int bit) {
        byte[] bytes = tree.get(name).clone();
        bytes[at] ^= (byte) (1 << bit);
        return tree.with(name, bytes);
    }

    private interface Damage {
        void on() throws IOException;
    }

    private void assertLosesAtMost(int lost, DirectoryImage damaged, String what) throws Exception {
        assertLosesAtMost(lost, damaged, () -> {}, what);
    }

    /** Opens a damaged directory and calls every operation of a cache. */
    private void assertLosesAtMost(int lost, DirectoryImage damaged, Damage more, String what)
            throws Exception {
        damaged.writeTo(directory);
        more.on();
        Entry fresh = TestEntries.entry(TestEntries.id("fresh"), KernelBinaries.of(new byte[100]));
        try (LocalTier tier = open()) {
            if (variants++ % 2 == 0) { // otherwise a store is the first to meet the damage
                assertTrue(hits(tier, what) <= entries.size());
            }
            assertThat(tier.store(fresh)).as(what).isStored();
            int left = hits(tier, what);
            assertTrue(left >= entries.size() - lost, () -> what + ": only " + left + " are left");
            assertThat(tier.load(fresh.id())).isHitOf(fresh);
            for (Entry entry : entries) {
                StoreResult stored = tier.store(entry);
                assertThat(stored).as(what).isStoredOrDuplicate();
            }
            assertEquals(entries.size(), hits(tier, what), what);
            assertTrue(tier.sweepNow(), what);
            assertEquals(entries.size(), hits(tier, what), what + ", swept");
        }
        removeForeignDirectories();
        try {
            StoreInvariants.check(directory);
        } catch (AssertionError e) {
            throw new AssertionError(what + ": " + e.getMessage(), e);
        }
        try (LocalTier tier = open()) {
            assertEquals(entries.size(), hits(tier, what), what + ", opened again");
            assertThat(tier.load(fresh.id())).isHitOf(fresh);
            tier.setCapacity(0); // everything can be evicted
            assertEquals(0, tier.usedBytes(), what);
            assertEquals(0, hits(tier, what), what);
        }
    }

    private int hits(LocalTier tier, String what) {
        int hits = 0;
        for (Entry entry : entries) {
            if (tier.load(entry.id()) instanceof LoadResult.Hit hit) {
                assertEquals(entry.binaries(), hit.entry().binaries(), what);
                hits++;
            }
        }
        return hits;
    }

    /** Removes directories and links: the check of the invariants expects only files. */
    private void removeForeignDirectories() throws IOException {
        for (Path parent : List.of(directory.resolve("v2"), directory.resolve("v2/segments"))) {
            StoreLayout.forEachChild(parent, path -> {
                if (Files.isSymbolicLink(path)
                        || (Files.isDirectory(path) && !path.endsWith("segments"))) {
                    FileTrees.delete(path);
                }
            });
        }
    }

    private static void assertArrayEquals(byte[] expected, byte[] actual, String what) {
        assertTrue(Arrays.equals(expected, actual), what);
    }
}
