package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EvictionPolicy;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.testing.TestRuns;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.RejectedExecutionException;

/** Tests of the capacity: which entries are evicted, when, and how much space that frees. */
final class CapacityTest {
    private static final int SIZE = 10_000; // three blocks with the rest of the entry
    private static final int BLOCKS = 3 * 4096;
    private static final int ROUNDS = TestRuns.count(10);
    private static final long ROOM_FOR_TEN = 10 * BLOCKS;

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
            assertThat(tier.store(entry)).isStored();
            ten.add(entry);
            clock.advance(Duration.ofHours(1));
        }
        return ten;
    }

    @Test
    @DisplayName("the least recently used entries are evicted; a used one stays, although it was"
            + " stored first")
    void leastRecentlyUsedLeaves() throws Exception {
        List<Entry> ten;
        try (LocalTier tier = StoreInvariants.openRegular(config().build())) {
            ten = storeTen(tier);
            assertThat(tier.load(ten.get(0).id())).isHitOf(ten.get(0));
            clock.advance(Duration.ofSeconds(1));
            assertThat(tier.store(ten.get(1))).as("storing again is a use").isDuplicate();
        }
        clock.advance(Duration.ofSeconds(1));
        try (LocalTier tier =
                StoreInvariants.openRegular(config().build())) { // uses outlive the process
            Entry eleventh = entries.entry(SIZE);
            assertThat(tier.store(eleventh)).isStored();
            assertTrue(tier.usage().diskBytes()
                    <= ROOM_FOR_TEN - ROOM_FOR_TEN / CapacitySweeper.FRACTION);
            for (int i : new int[] {0, 1, 4, 9}) {
                assertThat(tier.load(ten.get(i).id())).isHitOf(ten.get(i));
            }
            assertThat(tier.load(eleventh.id())).isHitOf(eleventh);
            assertThat(tier.load(ten.get(2).id())).isAbsent();
            assertThat(tier.load(ten.get(3).id())).isAbsent();
            assertEquals(2, tier.evictions());
        }
    }

    @Test
    @DisplayName("FIFO: the entries stored first are evicted, used or not")
    void firstStoredLeaves() throws Exception {
        try (LocalTier tier =
                StoreInvariants.openRegular(config().policy(EvictionPolicy.FIFO).build())) {
            List<Entry> ten = storeTen(tier);
            for (int i = 0; i < 25; i++) {
                Entry next = entries.entry(SIZE);
                assertThat(tier.store(next)).isStored();
                clock.advance(Duration.ofHours(1));
                ten.add(next);
                while (!(tier.load(ten.getFirst().id()) instanceof LoadResult.Hit)) {
                    ten.removeFirst();
                }
                for (Entry entry : ten) {
                    assertThat(tier.load(entry.id())).isHitOf(entry);
                }
                assertTrue(ten.size() >= 8, "no more leave than must: " + ten.size());
            }
        }
    }

    @Test
    @DisplayName("larger than the capacity: refused, evicts nothing")
    void tooLarge() throws Exception {
        try (LocalTier tier = StoreInvariants.openRegular(config().build())) {
            List<Entry> ten = storeTen(tier);
            assertThat(tier.store(entries.entry((int) ROOM_FOR_TEN + 1))).isRefused();
            assertThat(tier.store(entries.entry((int) ROOM_FOR_TEN - 100)))
                    .as("its header and key count")
                    .isRefused();
            for (Entry entry : ten) {
                assertThat(tier.load(entry.id())).isHitOf(entry);
            }
            assertEquals(0, tier.evictions());
        }
    }

    @Test
    @DisplayName("while another process sweeps, loads and stores continue; the sweep that is due"
            + " runs later")
    void evictionDoesNotDisturb() throws Exception {
        try (LocalTier tier = StoreInvariants.openRegular(config().build());
                FileChannel file = FileChannel.open(
                        directory.resolve("sweep"),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.WRITE)) {
            List<Entry> ten;
            try (FileLock _ = file.lock()) {
                ten = storeTen(tier);
                ten.add(entries.entry(SIZE));
                assertThat(tier.store(ten.getLast())).isStored();
                for (Entry entry : ten) {
                    assertThat(tier.load(entry.id())).isHitOf(entry);
                }
            }
            assertThat(tier.store(entries.entry(SIZE))).isStored();
            assertTrue(tier.usage().diskBytes() <= ROOM_FOR_TEN);
        }
    }

    @Test
    @DisplayName("a store succeeds although its sweep is rejected, or the system has no thread"
            + " for it; it runs in close")
    void noThreadForTheSweep() throws Exception {
        for (Throwable reason : List.of(
                new RejectedExecutionException("a test"),
                new OutOfMemoryError("a test: unable to create native thread"))) {
            clock.advance(Duration.ofHours(1));
            try (LocalTier tier = StoreInvariants.openRegular(config().background(_ -> {
                        if (reason instanceof Error error) {
                            throw error;
                        }
                        throw (RuntimeException) reason;
                    })
                    .build())) {
                List<Entry> ten = storeTen(tier);
                assertThat(tier.store(entries.entry(SIZE))).isStored();
                assertThat(tier.load(ten.getFirst().id())).isHitOf(ten.getFirst());
                assertTrue(tier.usage().diskBytes() > ROOM_FOR_TEN);
            }
            try (LocalTier tier = StoreInvariants.openRegular(config().build())) {
                assertTrue(tier.usage().diskBytes() <= ROOM_FOR_TEN);
            }
        }
    }

    @Test
    @DisplayName("stores that outrun the background sweep themselves, once 1/4 of the capacity is"
            + " due")
    void storesOutrunTheBackground() throws Exception {
        long capacity = 64 * BLOCKS;
        try (LocalTier tier = StoreInvariants.openRegular(
                config().capacityBytes(capacity).background(_ -> {}).build())) {
            for (int i = 0; i < 300; i++) {
                assertThat(tier.store(entries.entry(SIZE))).isStored();
                clock.advance(Duration.ofSeconds(1));
                assertTrue(
                        tier.usage().diskBytes() <= capacity + capacity / 16 * 5,
                        tier.usage()::toString);
            }
            assertTrue(tier.evictions() > 200);
        }
    }

    @Test
    @DisplayName("two open tiers agree after one evicted")
    void twoAgree() throws Exception {
        try (LocalTier one = StoreInvariants.openRegular(config().build());
                LocalTier two = StoreInvariants.openRegular(config().build())) {
            List<Entry> ten = storeTen(one);
            two.store(entries.entry(SIZE));
            assertThat(one.load(ten.get(0).id())).isAbsent();
            assertThat(two.load(ten.get(0).id())).isAbsent();
            assertEquals(one.usage(), two.usage());
            assertThat(one.store(ten.get(0))).isStored();
            assertThat(two.load(ten.get(0).id())).isHitOf(ten.get(0));
        }
    }

    @Test
    @DisplayName("lowering the capacity takes effect at once, down to nothing")
    void lowering() throws Exception {
        try (LocalTier tier = StoreInvariants.openRegular(config().build())) {
            List<Entry> ten = storeTen(tier);
            tier.setCapacity(ROOM_FOR_TEN / 2);
            assertTrue(tier.usage().diskBytes() <= ROOM_FOR_TEN / 2);
            assertThat(tier.load(ten.get(9).id())).isHitOf(ten.get(9));
            assertThat(tier.load(ten.get(0).id())).isAbsent();
            tier.setCapacity(0);
            assertEquals(0, tier.usage().entries());
            assertThat(tier.store(ten.get(0))).isRefused();
        }
    }

    @Test
    @DisplayName("the first sweep of a process is due after a random part of 1/16 of the capacity,"
            + " the others after 1/16 each")
    void due() throws Exception {
        long capacity = 16 * 10L * BLOCKS;
        for (int part : new int[] {0, 4, 10}) {
            Queue<Runnable> sweeps = new ArrayDeque<>();
            LocalTierConfig config =
                    config().capacityBytes(capacity).background(sweeps::add).build();
            try (LocalTier tier =
                    LocalTier.open(config, StoreStep.Listener.NONE, _ -> (long) part * BLOCKS)) {
                for (int stored = 1; stored <= 35; stored++) {
                    assertThat(tier.store(entries.entry(SIZE))).isStored();
                    boolean isDue = stored == Math.max(1, part)
                            || (stored > part && (stored - Math.max(1, part)) % 10 == 0);
                    assertEquals(isDue ? 1 : 0, sweeps.size(), part + ": " + stored);
                    while (!sweeps.isEmpty()) {
                        sweeps.remove().run();
                    }
                }
            }
        }
    }

    @Test
    @DisplayName("a long random run: exactly the least recently used are evicted, within 1/16; disk"
            + " usage stays below its bound")
    void longLife() throws Exception {
        long capacity = 60L * BLOCKS;
        List<Entry> byUse = new ArrayList<>(); // least recently used first
        int stores = 200;
        int gone = 0;
        try (LocalTier tier =
                StoreInvariants.openRegular(config().capacityBytes(capacity).build())) {
            for (int i = 0; i < stores; i++) {
                clock.advance(Duration.ofHours(1));
                Entry entry = entries.entry(entries.random().nextInt(100, 2 * SIZE));
                assertThat(tier.store(entry)).isStored();
                byUse.add(entry);
                for (int use = 0; use < 3; use++) {
                    clock.advance(Duration.ofHours(1));
                    Entry used = byUse.get(entries.random().nextInt(byUse.size()));
                    if (tier.load(used.id()) instanceof LoadResult.Hit) {
                        byUse.remove(used);
                        byUse.add(used);
                    }
                }
                assertTrue(tier.usage().diskBytes() <= capacity + capacity / 16);
                boolean survivorSeen = false;
                for (Entry each : List.copyOf(byUse)) {
                    boolean isPresent = StoreInvariants.isPresent(tier, each);
                    assertTrue(
                            isPresent || !survivorSeen,
                            "an entry was evicted although another was unused for longer");
                    survivorSeen |= isPresent;
                    if (!isPresent) {
                        gone++;
                        byUse.remove(each);
                    }
                }
            }
            assertTrue(gone > stores / 2);
            assertTrue(tier.usage().diskBytes() > capacity * 3 / 4, "no more leaves than must");
        }
    }

    @Test
    @DisplayName("after each sweep, usage is at most the capacity, whatever was stored, used and"
            + " removed before")
    void afterEachSweep() throws Exception {
        SplittableRandom random = new SplittableRandom(TestSeed.VALUE);
        long capacity = 1 << 20;
        try (LocalTier tier = LocalTier.open(
                config().capacityBytes(capacity).background(_ -> {}).build())) {
            List<Entry> stored = new ArrayList<>();
            for (int round = 0; round < ROUNDS; round++) {
                long most = 1L << random.nextInt(8, 18);
                for (long left = random.nextLong(capacity / 2); left > 0; ) {
                    int size = (int) random.nextLong(1, most);
                    left -= size + 700;
                    Entry entry = entries.entry(size);
                    tier.store(entry);
                    stored.add(entry);
                    // at times many entries with one time
                    clock.advance(Duration.ofHours(random.nextInt(2)));
                }
                for (int i = random.nextInt(stored.size()); i > 0; i -= 3) {
                    Entry entry = stored.get(random.nextInt(stored.size()));
                    if (random.nextBoolean()) {
                        tier.load(entry.id());
                    } else {
                        tier.discard(entry);
                    }
                }
                long before = tier.usage().diskBytes();
                assertTrue(tier.enforceCapacity());
                long after = tier.usage().diskBytes();
                assertTrue(after <= capacity, round + ": " + after);
                assertTrue(
                        before <= capacity ? after == before : after > capacity / 2,
                        () -> "no more leave than must: " + before + " " + after);
                if (stored.size() > 400) {
                    stored.subList(0, 300).clear();
                }
            }
        }
    }

    @Test
    @DisplayName("an entry that is used after the scan of a sweep stays")
    void usedDuringSweep() throws Exception {
        try (LocalTier user = StoreInvariants.openRegular(config().build())) {
            List<Entry> ten = storeTen(user);
            StoreStep.Listener using = step -> {
                if (step == StoreStep.SCANNED) {
                    assertThat(user.load(ten.getFirst().id())).isHitOf(ten.getFirst());
                }
            };
            try (LocalTier tier = LocalTier.open(config().build(), using, bound -> bound - 1)) {
                tier.setCapacity(ROOM_FOR_TEN / 2);
                assertThat(tier.load(ten.getFirst().id())).isHitOf(ten.getFirst());
                assertThat(tier.load(ten.get(1).id())).isAbsent();
            }
        }
    }

    @Test
    @DisplayName("A listener gets the number and length of evicted entries, which agree with the"
            + " statistics; one that throws does not disturb the eviction")
    void listener() throws Exception {
        List<Long> evicted = new ArrayList<>();
        List<Long> bytes = new ArrayList<>();
        try (LocalTier tier = StoreInvariants.openRegular(config().build())) {
            tier.setEvictionListener(() -> (count, length) -> {
                evicted.add(count);
                bytes.add(length);
            });
            storeTen(tier);
            tier.setCapacity(ROOM_FOR_TEN / 2);
            assertEquals(
                    tier.evictions(),
                    evicted.stream().mapToLong(Long::longValue).sum());
            assertTrue(bytes.stream().mapToLong(Long::longValue).sum() > tier.evictions() * SIZE);
            assertTrue(evicted.stream().allMatch(count -> count > 0), evicted::toString);
            assertTrue(tier.evictions() >= 5);
            tier.setEvictionListener(() -> {
                throw new IllegalStateException("a test");
            });
            tier.setCapacity(ROOM_FOR_TEN / 4);
            tier.setEvictionListener(() -> (_, _) -> {
                throw new IllegalStateException("a test");
            });
            tier.setCapacity(ROOM_FOR_TEN / 8);
            assertTrue(tier.usage().diskBytes() <= ROOM_FOR_TEN / 8);
        }
    }
}
