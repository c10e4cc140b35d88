package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.local.config.EvictionPolicy;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.EntryLocation;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Tests of a clock that was ahead for a while: its entries must neither stay for ever nor evict
 * later ones.
 */
final class WrongClockTest {
    private static final int SIZE = 10_000;
    private static final int ROOM = 20;
    private static final long CAPACITY = ROOM * (SIZE + 700L);

    private final TestEntries entries = new TestEntries("WrongClockTest");
    private final TestClock clock = new TestClock();

    @TempDir
    private Path directory;

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        StoreInvariants.check(directory);
    }

    private LocalTier open(EvictionPolicy policy) throws LocalDirectoryException {
        return LocalTier.open(LocalTierConfig.builder(directory)
                .capacityBytes(CAPACITY)
                .clock(clock)
                .policy(policy)
                .background(Runnable::run)
                .build());
    }

    private List<Entry> store(LocalTier tier, int count) {
        List<Entry> stored = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Entry entry = entries.entry(SIZE);
            assertThat(tier.store(entry)).isStored();
            stored.add(entry);
            clock.advance(Duration.ofSeconds(1));
        }
        return stored;
    }

    private static int countPresent(LocalTier tier, List<Entry> some) {
        return (int) some.stream()
                .filter(entry -> StoreInvariants.isPresent(tier, entry))
                .count();
    }

    @ParameterizedTest
    @CsvSource({"LRU, 1", "LRU, 8760", "FIFO, 1", "FIFO, 8760"})
    @DisplayName(
            "E1 L3 a clock was ahead and is right again: entries stored since stay, and those with"
                    + " wrong times are evicted in turn")
    void wasAhead(EvictionPolicy policy, int hours) throws Exception {
        clock.advance(Duration.ofHours(hours));
        List<Entry> wrong;
        try (LocalTier tier = open(policy)) {
            wrong = store(tier, ROOM);
        }
        clock.advance(Duration.ofHours(-hours));
        try (LocalTier tier = open(policy)) {
            List<Entry> right = store(tier, ROOM / 2);
            assertEquals(right.size(), countPresent(tier, right), "evicted at once");
            assertTrue(
                    countPresent(tier, wrong) >= ROOM / 2 - 3,
                    () -> countPresent(tier, wrong)
                            + " are left: no more are evicted than necessary");
            List<Entry> more = store(tier, ROOM);
            assertEquals(0, countPresent(tier, wrong), "they are evicted in turn");
            assertTrue(countPresent(tier, more) >= ROOM - 2);
        }
    }

    @Test
    @DisplayName("E1 L3 of the entries with wrong times, those used since outlast the unused ones")
    void usedSince() throws Exception {
        clock.advance(Duration.ofDays(300));
        List<Entry> wrong;
        try (LocalTier tier = open(EvictionPolicy.LRU)) {
            wrong = store(tier, ROOM);
        }
        clock.advance(Duration.ofDays(-300));
        try (LocalTier tier = open(EvictionPolicy.LRU)) {
            List<Entry> used = wrong.subList(0, 3); // otherwise evicted first
            for (Entry entry : used) {
                assertThat(tier.load(entry.id())).isHitOf(entry);
            }
            store(tier, ROOM / 2);
            assertEquals(used.size(), countPresent(tier, used));
        }
    }

    @Test
    @DisplayName("E1 L3 a negative, damaged time is wrong as well; a recent one is not")
    void wrongTimes() throws Exception {
        long now = 1_800_000_000_000_000L;
        EntryIndex index = EntryIndex.create(directory.resolve("table"), 1, EntryIndex.MIN_SLOTS);
        long[] stamps = {now, now + 1_000_000, now + 3_600_000_000L, -5, Long.MIN_VALUE + 5};
        for (int tag = 0; tag < stamps.length; tag++) {
            assertEquals(
                    1,
                    index.insert(
                            tag + 1,
                            EntryLocation.location(1, tag + 1),
                            1,
                            now / 1_000_000,
                            stamps[tag]));
            int slot = index.find(tag + 1, EntryLocation.location(1, tag + 1));
            assertEquals(tag > 1, index.hasWrongTime(slot, now), "stamp " + stamps[tag]);
            index.correctTimes(slot, now, now - 7);
            assertEquals(tag > 1 ? now - 7 : stamps[tag], index.usedMicros(slot));
            assertEquals(now / 1_000_000, index.storedSeconds(slot));
        }
    }
}
