package dev.granary.local;

import static dev.granary.cache.contract.PersistentCacheContract.assertHit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.local.config.EvictionPolicy;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.BootId;
import dev.granary.local.eviction.Evictor;
import dev.granary.local.file.StoreStep;
import dev.granary.local.store.SegmentStore;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;

/** Tests of the capacity: which entries are evicted, when, and how much space that frees. */
final class CapacityTest {
    private static final int SIZE = 10_000;
    private static final long ROOM_FOR_TEN = 10 * (SIZE + 700L);

    private final TestEntries entries = new TestEntries("CapacityTest");
    private final TestClock clock = new TestClock();

    @TempDir
    private Path directory;

    private LocalTierConfig.Builder config() {
        return LocalTierConfig.builder(directory)
                .capacityBytes(ROOM_FOR_TEN)
                .clock(clock)
                .background(Runnable::run);
    }

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        StoreInvariants.check(directory);
    }

    private List<Entry> storeTen(LocalTier tier) {
        List<Entry> ten = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            Entry entry = entries.entry(SIZE);
            assertInstanceOf(StoreResult.Stored.class, tier.store(entry));
            ten.add(entry);
            clock.advance(Duration.ofSeconds(1));
        }
        return ten;
    }

    @Test
    @DisplayName(
            "E1 M9 the least recently used entries are evicted; a used one stays, although it was"
                    + " stored first")
    void leastRecentlyUsedLeaves() throws Exception {
        List<Entry> ten;
        try (LocalTier tier = LocalTier.open(config().build())) {
            ten = storeTen(tier);
            assertHit(ten.get(0), tier.load(ten.get(0).id()));
            clock.advance(Duration.ofSeconds(1));
            assertInstanceOf(
                    StoreResult.Duplicate.class, tier.store(ten.get(1)), "storing again is a use");
        }
        clock.advance(Duration.ofSeconds(1));
        try (LocalTier tier = LocalTier.open(config().build())) { // uses outlive the process
            Entry eleventh = entries.entry(SIZE);
            assertInstanceOf(StoreResult.Stored.class, tier.store(eleventh));
            assertTrue(tier.usedBytes() <= ROOM_FOR_TEN - ROOM_FOR_TEN / Evictor.FREED_FRACTION);
            assertTrue(tier.diskBytes() <= ROOM_FOR_TEN);
            for (int i : new int[] {0, 1, 4, 9}) {
                assertHit(ten.get(i), tier.load(ten.get(i).id()));
            }
            assertHit(eleventh, tier.load(eleventh.id()));
            assertEquals(LoadResult.ABSENT, tier.load(ten.get(2).id()));
            assertEquals(LoadResult.ABSENT, tier.load(ten.get(3).id()));
            assertEquals(2, tier.statistics().evictions());
            assertTrue(tier.statistics().bytesEvicted() > 2 * SIZE);
        }
    }

    @Test
    @DisplayName("E1 FIFO: the entries stored first are evicted, used or not, also after they were"
            + " copied to another segment")
    void firstStoredLeaves() throws Exception {
        try (LocalTier tier =
                LocalTier.open(config().policy(EvictionPolicy.FIFO).build())) {
            List<Entry> ten = storeTen(tier);
            for (int i = 0; i < 25; i++) {
                assertHit(ten.get(0), tier.load(ten.getFirst().id()));
                Entry next = entries.entry(SIZE);
                clock.advance(Duration.ofSeconds(1));
                assertInstanceOf(StoreResult.Stored.class, tier.store(next));
                ten.add(next);
                while (!(tier.load(ten.getFirst().id()) instanceof LoadResult.Hit)) {
                    ten.removeFirst();
                }
                for (Entry entry : ten) {
                    assertHit(entry, tier.load(entry.id()));
                }
                assertTrue(ten.size() >= 7, "no more leave than must: " + ten.size());
            }
        }
    }

    @Test
    @DisplayName("E2 larger than the capacity: refused, evicts nothing")
    void tooLarge() throws Exception {
        try (LocalTier tier = LocalTier.open(config().build())) {
            List<Entry> ten = storeTen(tier);
            assertInstanceOf(
                    StoreResult.Refused.class, tier.store(entries.entry((int) ROOM_FOR_TEN + 1)));
            assertInstanceOf(
                    StoreResult.Refused.class,
                    tier.store(entries.entry((int) ROOM_FOR_TEN - 100)),
                    "its frame counts");
            for (Entry entry : ten) {
                assertHit(entry, tier.load(entry.id()));
            }
            assertEquals(2, tier.statistics().refusedTooLarge());
            assertEquals(0, tier.statistics().evictions());
        }
    }

    @Test
    @DisplayName("E3 while another process evicts, loads do not wait and stores continue up to 1/4"
            + " above the capacity; rejected sweeps run in close")
    void evictionDoesNotDisturb() throws Exception {
        SegmentStore store =
                SegmentStore.share(directory.toRealPath(), BootId.mark(), StoreStep.Listener.NONE);
        try (LocalTier tier = LocalTier.open(config().background(CapacityTest::reject)
                .storeTimeout(Duration.ofMillis(250))
                .build())) {
            List<Entry> ten = storeTen(tier);
            store.runSweep(() -> {
                int stored = 0;
                for (int i = 0; i < 10; i++) {
                    Entry entry = entries.entry(SIZE);
                    if (tier.store(entry) instanceof StoreResult.Stored) {
                        assertHit(entry, tier.load(entry.id()));
                        stored++;
                    }
                }
                assertTrue(stored >= 2 && stored < 5, "stored " + stored);
                assertHit(ten.get(0), tier.load(ten.get(0).id()));
            });
            assertTrue(tier.usedBytes() > ROOM_FOR_TEN);
        } finally {
            store.release();
        }
        try (LocalTier tier = LocalTier.open(config().build())) {
            assertTrue(tier.diskBytes() <= ROOM_FOR_TEN);
        }
    }

    private static void reject(Runnable task) {
        throw new RejectedExecutionException("busy: " + task);
    }

    @Test
    @DisplayName("E4 two open tiers agree after one evicted")
    void twoAgree() throws Exception {
        try (LocalTier one = LocalTier.open(config().build());
                LocalTier two = LocalTier.open(config().build())) {
            List<Entry> ten = storeTen(one);
            two.store(entries.entry(SIZE));
            assertEquals(LoadResult.ABSENT, one.load(ten.get(0).id()));
            assertEquals(LoadResult.ABSENT, two.load(ten.get(0).id()));
            assertEquals(one.usedBytes(), two.usedBytes());
            assertInstanceOf(StoreResult.Stored.class, one.store(ten.get(0)));
            assertHit(ten.get(0), two.load(ten.get(0).id()));
        }
    }

    @Test
    @DisplayName("E9 lowering the capacity takes effect at once, down to nothing")
    void lowering() throws Exception {
        try (LocalTier tier = LocalTier.open(config().build())) {
            List<Entry> ten = storeTen(tier);
            tier.setCapacity(ROOM_FOR_TEN / 2);
            assertTrue(tier.diskBytes() <= ROOM_FOR_TEN / 2);
            assertHit(ten.get(9), tier.load(ten.get(9).id()));
            assertEquals(LoadResult.ABSENT, tier.load(ten.get(0).id()));
            tier.setCapacity(0);
            assertEquals(0, tier.usedBytes());
            assertEquals(0, tier.diskBytes());
            assertInstanceOf(StoreResult.Refused.class, tier.store(ten.get(0)));
        }
    }

    @Test
    @DisplayName(
            "E1 a long random run: exactly the least recently used are evicted, within 1/16; disk"
                    + " usage stays below its bound")
    void longLife() throws Exception {
        long capacity = 60 * (SIZE + 700L);
        List<Entry> byUse = new ArrayList<>(); // least recently used first
        Set<Entry> gone = new HashSet<>();
        try (LocalTier tier = LocalTier.open(config().capacityBytes(capacity).build())) {
            for (int i = 0; i < 400; i++) {
                clock.advance(Duration.ofMillis(1));
                Entry entry = entries.entry(entries.random().nextInt(100, 2 * SIZE));
                assertInstanceOf(StoreResult.Stored.class, tier.store(entry));
                byUse.add(entry);
                for (int use = 0; use < 3; use++) {
                    clock.advance(Duration.ofMillis(1));
                    Entry used = byUse.get(entries.random().nextInt(byUse.size()));
                    if (tier.load(used.id()) instanceof LoadResult.Hit) {
                        byUse.remove(used);
                        byUse.add(used);
                    }
                }
                assertTrue(
                        tier.diskBytes() <= capacity + capacity / 16,
                        () -> "disk " + tier.diskBytes());
                boolean survivorSeen = false;
                for (Entry each : List.copyOf(byUse)) {
                    boolean isPresent = StoreInvariants.isPresent(tier, each);
                    assertTrue(
                            isPresent || !survivorSeen,
                            "an entry was evicted although another was unused for longer");
                    survivorSeen |= isPresent;
                    if (!isPresent) {
                        gone.add(each);
                        byUse.remove(each);
                    }
                }
            }
            assertTrue(gone.size() > 200);
            assertTrue(tier.usedBytes() > capacity * 3 / 4, "no more leaves than must");
        }
    }
}
