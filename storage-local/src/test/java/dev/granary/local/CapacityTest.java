package dev.granary.local;

import static dev.granary.cache.contract.PersistentCacheContract.assertHit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The bound in bytes: what leaves, when, and that the account is right. */
final class CapacityTest {
    private static final int SIZE = 10_000;
    private static final long ROOM_FOR_TEN = 10 * (SIZE + 600L);

    private final TestEntries entries = new TestEntries("CapacityTest");
    private final TestClock clock = new TestClock();

    @TempDir
    private Path directory;

    private LocalConfig.Builder config() {
        return LocalConfig.builder(directory).capacityBytes(ROOM_FOR_TEN).clock(clock).background(Runnable::run);
    }

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        Invariants.check(directory);
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
    @DisplayName("E1 M9 the least recently used leave; what was used stays, although it was stored first")
    void leastRecentlyUsedLeaves() throws Exception {
        List<Entry> ten;
        try (LocalTier tier = LocalTier.open(config().build())) {
            ten = storeTen(tier);
            assertHit(ten.get(0), tier.load(ten.get(0).id()));
            clock.advance(Duration.ofSeconds(1));
            assertInstanceOf(StoreResult.Duplicate.class, tier.store(ten.get(1)), "storing again is a use");
        }
        clock.advance(Duration.ofSeconds(1));
        try (LocalTier tier = LocalTier.open(config().build())) { // uses outlive the process
            Entry eleventh = entries.entry(SIZE);
            assertInstanceOf(StoreResult.Stored.class, tier.store(eleventh));
            assertTrue(tier.usedBytes() <= ROOM_FOR_TEN * Sweep.KEPT_PERCENT / 100);
            assertEquals(Invariants.entryBytes(directory), tier.usedBytes());
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
    @DisplayName("E1 FIFO: the first stored leave, used or not")
    void firstStoredLeaves() throws Exception {
        try (LocalTier tier = LocalTier.open(config().policy(EvictionPolicy.FIFO).build())) {
            List<Entry> ten = storeTen(tier);
            assertHit(ten.get(0), tier.load(ten.get(0).id()));
            tier.store(entries.entry(SIZE));
            assertEquals(LoadResult.ABSENT, tier.load(ten.get(0).id()));
            assertHit(ten.get(4), tier.load(ten.get(4).id()));
        }
    }

    @Test
    @DisplayName("Uses of one entry close together write its stamp once")
    void stampsAreRare() throws Exception {
        try (LocalTier tier = LocalTier.open(config().build())) {
            Entry entry = entries.entry(SIZE);
            tier.store(entry);
            long stored = stampAfter(tier, entry);
            clock.advance(Duration.ofSeconds(2));
            assertEquals(stored, stampAfter(tier, entry), "within the step");
            clock.advance(Recency.STEP);
            assertEquals(clock.millis(), stampAfter(tier, entry));
        }
    }

    private long stampAfter(LocalTier tier, Entry entry) throws IOException {
        assertHit(entry, tier.load(entry.id()));
        tier.list(_ -> {}); // writes what is behind
        return Files.getLastModifiedTime(Invariants.entryFiles(directory).getFirst()).toMillis();
    }

    @Test
    @DisplayName("E2 larger than the capacity: refused, evicts nothing")
    void tooLarge() throws Exception {
        try (LocalTier tier = LocalTier.open(config().build())) {
            List<Entry> ten = storeTen(tier);
            assertInstanceOf(StoreResult.Refused.class, tier.store(entries.entry((int) ROOM_FOR_TEN + 1)));
            assertInstanceOf(StoreResult.Refused.class, tier.store(entries.entry((int) ROOM_FOR_TEN - 100)), "its frame counts");
            for (Entry entry : ten) {
                assertHit(entry, tier.load(entry.id()));
            }
            assertEquals(2, tier.statistics().refusedTooLarge());
            assertEquals(0, tier.statistics().evictions());
        }
    }

    @Test
    @DisplayName("E3 while another evicts, puts succeed and gets do not wait; an executor that refuses leaves the work to close")
    void evictionDoesNotDisturb() throws Exception {
        Trouble trouble = new Trouble();
        Ledger ledger = Ledger.share(new Layout(directory, id -> id.hash()).ledger());
        try (LocalTier tier = LocalTier.open(config().background(CapacityTest::reject).build())) {
            List<Entry> ten = storeTen(tier);
            ledger.sweepAlone(() -> {
                for (int i = 0; i < 10; i++) {
                    Entry entry = entries.entry(SIZE);
                    assertInstanceOf(StoreResult.Stored.class, tier.store(entry));
                    assertHit(entry, tier.load(entry.id()));
                }
                assertHit(ten.get(0), tier.load(ten.get(0).id()));
            }, trouble);
            assertTrue(tier.usedBytes() > ROOM_FOR_TEN);
        } finally {
            ledger.release(trouble);
        }
        assertTrue(Invariants.entryBytes(directory) <= ROOM_FOR_TEN);
    }

    private static void reject(Runnable task) {
        throw new RejectedExecutionException("busy: " + task);
    }

    @Test
    @DisplayName("E4 two openings agree after one evicted")
    void twoAgree() throws Exception {
        try (LocalTier one = LocalTier.open(config().build()); LocalTier two = LocalTier.open(config().build())) {
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
            assertTrue(Invariants.entryBytes(directory) <= ROOM_FOR_TEN / 2);
            assertHit(ten.get(9), tier.load(ten.get(9).id()));
            assertEquals(LoadResult.ABSENT, tier.load(ten.get(0).id()));
            tier.setCapacity(0);
            assertEquals(0, tier.usedBytes());
            assertInstanceOf(StoreResult.Refused.class, tier.store(ten.get(0)));
        }
    }

    @Test
    @DisplayName("O6 a damaged, missing or foreign account is counted anew, and fails nothing meanwhile")
    void damagedAccount() throws Exception {
        Path ledger = directory.resolve("v1/ledger");
        for (byte[] bad : List.of(new byte[0], new byte[LedgerState.BYTES], new byte[] {1, 2, 3}, new byte[10_000])) {
            try (LocalTier tier = LocalTier.open(config().build())) {
                tier.store(entries.entry(SIZE));
                Files.write(ledger, bad);
                assertInstanceOf(StoreResult.Stored.class, tier.store(entries.entry(SIZE)));
                assertEquals(Invariants.entryBytes(directory), tier.usedBytes());
                Files.delete(ledger);
                assertInstanceOf(StoreResult.Stored.class, tier.store(entries.entry(SIZE)));
                assertEquals(Invariants.entryBytes(directory), tier.usedBytes());
            }
        }
    }

    @Test
    @DisplayName("O6 the account is counted anew once a day")
    void dailyCount() throws Exception {
        try (LocalTier tier = LocalTier.open(config().build())) {
            storeTen(tier);
        }
        Files.delete(Invariants.entryFiles(directory).getFirst()); // by hand, behind the account's back
        try (LocalTier tier = LocalTier.open(config().build())) {
            assertTrue(tier.usedBytes() > Invariants.entryBytes(directory));
        }
        clock.advance(Sweep.RECOUNT.plusSeconds(1));
        try (LocalTier tier = LocalTier.open(config().build())) {
            assertEquals(Invariants.entryBytes(directory), tier.usedBytes());
        }
    }
}
