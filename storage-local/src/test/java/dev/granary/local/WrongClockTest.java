package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EvictionPolicy;
import dev.granary.cache.contract.TestEntries;

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
    private static final long CAPACITY = ROOM * CapacitySweeper.onDisk(SIZE + 700);

    private final TestEntries entries = new TestEntries("WrongClockTest");
    private final TestClock clock = new TestClock();

    @TempDir
    private Path directory;

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        StoreInvariants.check(directory);
    }

    private LocalTier open(EvictionPolicy policy) throws LocalDirectoryException {
        return StoreInvariants.openRegular(LocalTierConfig.builder(directory)
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
    @DisplayName("a clock was ahead and is right again: entries stored since stay, and those with"
            + " wrong times are evicted before them")
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
    @DisplayName("of the entries with wrong times, those used since outlast the unused ones")
    void usedSince() throws Exception {
        clock.advance(Duration.ofDays(365));
        List<Entry> wrong;
        try (LocalTier tier = open(EvictionPolicy.LRU)) {
            wrong = store(tier, ROOM);
        }
        clock.advance(Duration.ofDays(-365));
        try (LocalTier tier = open(EvictionPolicy.LRU)) {
            List<Entry> used = wrong.subList(0, 3); // otherwise evicted first
            for (Entry entry : used) {
                assertThat(tier.load(entry.id())).isHitOf(entry);
            }
            store(tier, ROOM / 2);
            assertEquals(used.size(), countPresent(tier, used));
        }
    }
}
