package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.BootId;
import dev.granary.local.file.StoreStep;
import dev.granary.local.store.SegmentStore;
import dev.granary.testing.Await;
import dev.granary.testing.InteractiveProcess;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Tests of many threads and processes that store in one directory. A failed store must have waited
 * for its whole timeout, however slow the machine is, so no test depends on its speed.
 */
@Timeout(600)
final class ContentionTest {
    static final long DEADLINE_NANOS = LocalTierConfig.DEFAULT_STORE_TIMEOUT.toNanos();

    private static final int PROCESSES = Integer.getInteger("granary.contention.processes", 8);
    private static final int THREADS = Integer.getInteger("granary.contention.threads", 100);
    private static final int STORES = Integer.getInteger("granary.contention.stores", 20);
    private static final int SIZE = 10_000;
    private static final long ROOM = 1L << 30;
    private static final long FULL = 8 << 20;

    @TempDir
    private Path temporary;

    private Path directory() {
        return temporary.resolve("cache");
    }

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        StoreInvariants.check(directory());
    }

    @ParameterizedTest(name = "A8 L4 threads, capacity {0}")
    @ValueSource(longs = {ROOM, FULL})
    @DisplayName(
            "A8 L4 many threads of one process: no store fails before its timeout, and eviction"
                    + " continues")
    void threads(long capacity) throws Exception {
        try (LocalTier tier = LocalTier.open(
                LocalTierConfig.builder(directory()).capacityBytes(capacity).build())) {
            long start = System.nanoTime();
            ContentionRun result =
                    ContentionRun.run(tier, DEADLINE_NANOS, "thread", THREADS, STORES, SIZE);
            report(THREADS + " threads", capacity, start, result);
            check(tier, result, capacity);
            if (capacity == ROOM && result.failed() == 0) {
                for (int t = 0; t < THREADS; t++) {
                    for (int i = 0; i < STORES; i++) {
                        Entry entry =
                                SharedEntries.entry(ContentionRun.name("thread", t) + i, SIZE);
                        assertThat(tier.load(entry.id())).isHitOf(entry);
                    }
                }
            }
        }
    }

    @ParameterizedTest(name = "A8 L4 processes, capacity {0}")
    @ValueSource(longs = {ROOM, FULL})
    @DisplayName("A8 L4 many processes: no store fails before its timeout, and eviction continues")
    void processes(long capacity) throws Exception {
        List<InteractiveProcess> processes = new ArrayList<>();
        try (LocalTier tier = LocalTier.open(
                LocalTierConfig.builder(directory()).capacityBytes(capacity).build())) {
            for (int i = 0; i < PROCESSES; i++) {
                processes.add(TierProcess.start(directory(), capacity));
            }
            for (InteractiveProcess process : processes) {
                // the process has started
                assertEquals("Absent", process.request("load nothing 1"));
            }
            long start = System.nanoTime();
            for (int i = 0; i < PROCESSES; i++) {
                processes.get(i).send("contend process" + i + " 2 " + STORES + " " + SIZE);
            }
            ContentionRun result = new ContentionRun(0, 0, 0, 0, "");
            for (InteractiveProcess process : processes) {
                result = result.and(ContentionRun.parse(process.answer()));
            }
            report(PROCESSES + " processes", capacity, start, result);
            for (InteractiveProcess process : processes) {
                assertEquals(0, process.finish());
            }
            check(tier, result, capacity);
        } finally {
            processes.forEach(InteractiveProcess::close);
        }
    }

    @Test
    @DisplayName("A8 L4 a stalled holder: the first store waits for its timeout, the next fails at"
            + " once, both with the cause; later stores work")
    void stalledHolder() throws Exception {
        Duration timeout = Duration.ofMillis(300);
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(directory())
                        .storeTimeout(timeout)
                        .background(Runnable::run)
                        .build());
                InteractiveProcess process = TierProcess.start(directory(), ROOM)) {
            assertEquals("Stored", process.request("store first 100"));
            process.request("stop " + StoreStep.MARKED);
            assertEquals("AT " + StoreStep.MARKED, process.request("store second 100"));
            long start = System.nanoTime();
            StoreResult failed = tier.store(SharedEntries.entry("third", 100));
            assertTrue(System.nanoTime() - start >= timeout.toNanos(), "before its timeout");
            assertTrue(failed.toString().contains("without progress"), failed::toString);
            failed = tier.store(SharedEntries.entry("third", 100));
            assertTrue(failed.toString().contains("without progress"), failed::toString);
            assertThat(tier.load(SharedEntries.entry("first", 100).id()))
                    .isHitOf(SharedEntries.entry("first", 100));
            assertEquals("Stored", process.request(TierProcess.RESUME));
            assertStoredSoon(tier, SharedEntries.entry("third", 100));
            process.request("stop " + StoreStep.MARKED);
            assertEquals("AT " + StoreStep.MARKED, process.request("store fourth 100"));
            assertThat(tier.store(SharedEntries.entry("fifth", 100))).isFailed();
            process.kill();
            assertStoredSoon(tier, SharedEntries.entry("fifth", 100));
        }
    }

    /**
     * Repeats a store until it succeeds. A pending lock request gets the lock shortly after the
     * holder's end and releases it. On a busy machine, stores may reach their timeout before that.
     */
    private static void assertStoredSoon(LocalTier tier, Entry entry) {
        long end = System.nanoTime() + Duration.ofMinutes(5).toNanos();
        StoreResult result;
        do {
            result = tier.store(entry);
        } while (!(result instanceof StoreResult.Stored) && System.nanoTime() < end);
        assertThat(result).as("a pending lock request must release the lock").isStored();
    }

    @Test
    @DisplayName("A7 A8 an interrupted store continues to wait for the lock and keeps the interrupt"
            + " status; the queue stays usable")
    void interrupted() throws Exception {
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(directory())
                        .storeTimeout(Duration.ofDays(1))
                        .background(Runnable::run)
                        .build());
                InteractiveProcess process = TierProcess.start(directory(), ROOM)) {
            process.request("stop " + StoreStep.MARKED);
            assertEquals("AT " + StoreStep.MARKED, process.request("store second 100"));
            List<String> ends = new CopyOnWriteArrayList<>();
            List<Thread> waiting = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                Entry entry = SharedEntries.entry("waits" + i, 100);
                waiting.add(Thread.ofPlatform().start(() -> {
                    StoreResult result = tier.store(entry);
                    ends.add(result.getClass().getSimpleName()
                            + Thread.currentThread().isInterrupted());
                }));
            }
            for (Thread thread : waiting) {
                Await.holds(
                        () -> !thread.isAlive() || thread.getState() == Thread.State.TIMED_WAITING);
                assertTrue(thread.isAlive(), () -> "ended before its interrupt: " + ends);
                thread.interrupt();
            }
            assertEquals("Stored", process.request(TierProcess.RESUME));
            for (Thread thread : waiting) {
                thread.join();
            }
            assertEquals(Collections.nCopies(5, "Storedtrue"), ends);
            assertThat(tier.store(SharedEntries.entry("after", 100))).isStored();
        }
    }

    @Test
    @DisplayName(
            "A8 L4 a lookup that finds damage waits briefly, whatever the timeout of a store is")
    void lookupWaitsBriefly() throws Exception {
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(directory())
                        .storeTimeout(Duration.ofDays(1))
                        .background(Runnable::run)
                        .build());
                InteractiveProcess process = TierProcess.start(directory(), ROOM)) {
            Entry entry = SharedEntries.entry("rots", 1000);
            tier.store(entry);
            EntryBytesOnDisk onDisk = EntryBytesOnDisk.of(directory(), entry.id());
            byte[] bytes = onDisk.read();
            bytes[bytes.length - 1] ^= 1;
            onDisk.write(bytes);
            process.request("stop " + StoreStep.MARKED);
            assertEquals("AT " + StoreStep.MARKED, process.request("store second 100"));
            // otherwise the test's timeout ends it
            assertThat(tier.load(entry.id())).isDamaged();
            assertEquals("Stored", process.request(TierProcess.RESUME));
        }
    }

    private LocalTier openWithShortTimeout() throws LocalDirectoryException {
        return LocalTier.open(LocalTierConfig.builder(directory())
                .capacityBytes(2 << 20)
                .storeTimeout(Duration.ofMillis(300))
                .background(Runnable::run)
                .build());
    }

    /** Fills the directory beyond the capacity of the tier, and stops the process in its sweep. */
    private static void stallSweep(InteractiveProcess process) throws IOException {
        assertEquals("done", process.request("many first 400 " + SIZE));
        process.request("stop " + StoreStep.CLOSED);
        assertEquals("AT " + StoreStep.CLOSED, process.request("sweep"));
    }

    @Test
    @DisplayName(
            "A8 L4 a stalled sweep: the first store waits for its timeout, the next fails at once,"
                    + " both with the cause; later stores work")
    void stalledSweep() throws Exception {
        try (LocalTier tier = openWithShortTimeout();
                InteractiveProcess process = TierProcess.start(directory(), ROOM)) {
            stallSweep(process);
            StoreResult failed = tier.store(SharedEntries.entry("second", 100));
            assertTrue(
                    failed.toString().contains("another process has made no progress for"),
                    failed::toString);
            failed = tier.store(SharedEntries.entry("second", 100));
            assertTrue(
                    failed.toString().contains("another process makes no progress"),
                    failed::toString);
            assertEquals("true", process.request(TierProcess.RESUME));
            assertThat(tier.store(SharedEntries.entry("second", 100))).isStored();
        }
    }

    @Test
    @DisplayName(
            "A8 L4 after a store that waited while others made changes, the next store waits for"
                    + " its own timeout")
    void sweepProgressesMeanwhile() throws Exception {
        try (LocalTier tier = openWithShortTimeout();
                InteractiveProcess process = TierProcess.start(directory(), ROOM)) {
            stallSweep(process);
            SegmentStore shared = SegmentStore.share(
                    directory().toRealPath(), BootId.mark(), StoreStep.Listener.NONE);
            try {
                StoreResult failed;
                do { // until the one change happens while the store waits
                    Thread change = Thread.ofPlatform().start(() -> {
                        try {
                            assertTrue(shared.change(_ -> true));
                        } catch (IOException e) {
                            throw new UncheckedIOException(e);
                        }
                    });
                    failed = tier.store(SharedEntries.entry("second", 100));
                    change.join();
                } while (!failed.toString()
                        .contains("another process has reclaimed too little for"));
                failed = tier.store(SharedEntries.entry("second", 100));
                assertTrue(
                        failed.toString().contains("another process has made no progress for"),
                        failed::toString);
            } finally {
                shared.release();
            }
            assertEquals("true", process.request(TierProcess.RESUME));
        }
    }

    @Test
    @DisplayName(
            "A8 L4 all waits of a store share one timeout: each wait reduces the time left for the"
                    + " next")
    void sharedTimeout() throws Exception {
        Duration day = Duration.ofDays(1);
        AtomicReference<InteractiveProcess> other = new AtomicReference<>();
        AtomicReference<SegmentStore> shared = new AtomicReference<>();
        List<Long> left = new ArrayList<>();
        StoreStep.Listener stopping = step -> {
            if (step == StoreStep.LOCKED && shared.get() != null) {
                left.add(Objects.requireNonNull(shared.get()).remainingTime().nanos());
            } else if (step == StoreStep.RESERVED && other.get() != null) {
                try {
                    other.get().request("stop " + StoreStep.MARKED);
                    assertEquals("AT " + StoreStep.MARKED, other.get().request("store third 100"));
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
                Objects.requireNonNull(shared.get()).remainingTime().deduct(day.toNanos());
            }
        };
        LocalTierConfig config = LocalTierConfig.builder(directory())
                .storeTimeout(day)
                .background(Runnable::run)
                .build();
        try (LocalTier tier = LocalTier.open(config, BootId.mark(), id -> id.hash(), stopping);
                InteractiveProcess process = TierProcess.start(directory(), ROOM)) {
            assertThat(tier.store(SharedEntries.entry("first", 100))).isStored();
            shared.set(SegmentStore.share(
                    directory().toRealPath(), BootId.mark(), StoreStep.Listener.NONE, day));
            assertThat(tier.store(SharedEntries.entry("large", 64 << 20))).isStored();
            assertEquals(2, left.size(), "one wait for a segment of its own, one for the index");
            assertTrue(
                    day.toNanos() > left.getFirst() && left.getFirst() > left.getLast(),
                    left::toString);
            other.set(process);
            // otherwise it waits for a day
            StoreResult failed = tier.store(SharedEntries.entry("second", 100));
            assertTrue(failed.toString().contains("is busy"), failed::toString);
            other.set(null);
            assertEquals("Stored", process.request(TierProcess.RESUME));
            assertThat(tier.store(SharedEntries.entry("second", 100))).isStored();
        } finally {
            Objects.requireNonNull(shared.get()).release();
        }
    }

    private static void report(String what, long capacity, long start, ContentionRun result) {
        System.out.printf(
                "%s, capacity %d: %.1f s, %s%n",
                what, capacity, (System.nanoTime() - start) / 1e9, result);
    }

    private static void check(LocalTier tier, ContentionRun result, long capacity)
            throws IOException {
        assertEquals(0, result.early(), result::toString);
        assertTrue(result.stored() > 0, result::toString);
        while (!tier.sweepNow()) {
            Thread.onSpinWait(); // a requested sweep is in progress
        }
        assertTrue(
                tier.diskBytes() <= capacity,
                () -> tier.diskBytes() + " bytes on the disk after " + tier.statistics());
        assertEquals(StoreInvariants.entryBytes(tier), tier.usedBytes());
        assertEquals(tier.usage().entryBytes(), tier.usedBytes());
    }
}
