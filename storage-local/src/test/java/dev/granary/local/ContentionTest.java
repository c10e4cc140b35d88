package dev.granary.local;

import static dev.granary.cache.contract.PersistentCacheContract.assertHit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Many threads and many processes that store in one directory at once. A store that fails must have waited for its whole deadline, however
 * slow the machine is; so nothing here depends on its speed.
 */
@Timeout(600)
final class ContentionTest {
    static final long DEADLINE_NANOS = LocalConfig.DEFAULT_STORE_TIMEOUT.toNanos();

    private static final int PROCESSES = Integer.getInteger("granary.contention.processes", 16);
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
        Invariants.check(directory());
    }

    @ParameterizedTest(name = "A8 L4 threads, capacity {0}")
    @ValueSource(longs = {ROOM, FULL})
    @DisplayName("A8 L4 many threads of one process: no store fails before its deadline, and eviction goes on")
    void threads(long capacity) throws Exception {
        try (LocalTier tier = LocalTier.open(LocalConfig.builder(directory()).capacityBytes(capacity).build())) {
            long start = System.nanoTime();
            Contention result = Contention.run(tier, DEADLINE_NANOS, "thread", THREADS, STORES, SIZE);
            report(THREADS + " threads", capacity, start, result);
            check(tier, result, capacity);
            if (capacity == ROOM && result.failed() == 0) {
                for (int t = 0; t < THREADS; t++) {
                    for (int i = 0; i < STORES; i++) {
                        Entry entry = Material.entry(Contention.name("thread", t) + i, SIZE);
                        assertHit(entry, tier.load(entry.id()));
                    }
                }
            }
        }
    }

    @ParameterizedTest(name = "A8 L4 processes, capacity {0}")
    @ValueSource(longs = {ROOM, FULL})
    @DisplayName("A8 L4 many processes: no store fails before its deadline, and eviction goes on")
    void processes(long capacity) throws Exception {
        List<TierProcess> processes = new ArrayList<>();
        try (LocalTier tier = LocalTier.open(LocalConfig.builder(directory()).capacityBytes(capacity).build())) {
            for (int i = 0; i < PROCESSES; i++) {
                processes.add(TierProcess.start(directory(), capacity));
            }
            for (TierProcess process : processes) {
                assertEquals("Absent", process.ask("load nothing 1")); // up and running
            }
            long start = System.nanoTime();
            for (int i = 0; i < PROCESSES; i++) {
                processes.get(i).send("contend process" + i + " 2 " + STORES + " " + SIZE);
            }
            Contention result = new Contention(0, 0, 0, 0, "");
            for (TierProcess process : processes) {
                result = result.and(Contention.parse(process.answer()));
            }
            report(PROCESSES + " processes", capacity, start, result);
            for (TierProcess process : processes) {
                assertEquals(0, process.finish());
            }
            check(tier, result, capacity);
        } finally {
            processes.forEach(TierProcess::close);
        }
    }

    private static void report(String what, long capacity, long start, Contention result) {
        System.out.printf("%s, capacity %d: %.1f s, %s%n", what, capacity, (System.nanoTime() - start) / 1e9, result);
    }

    private static void check(LocalTier tier, Contention result, long capacity) throws IOException {
        assertEquals(0, result.early(), result::toString);
        assertTrue(result.stored() > 0, result::toString);
        while (!tier.sweepNow()) {
            Thread.onSpinWait(); // one that was asked for is under way
        }
        assertTrue(tier.diskBytes() <= capacity, () -> tier.diskBytes() + " bytes on the disk");
        assertEquals(Invariants.entryBytes(tier), tier.usedBytes());
        assertEquals(tier.survey().entryBytes(), tier.usedBytes());
    }
}
