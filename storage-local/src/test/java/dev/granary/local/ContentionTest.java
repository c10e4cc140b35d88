package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.testing.InteractiveProcess;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Tests of many threads and processes that store in one directory: no store ever fails. */
@Timeout(600)
final class ContentionTest {
    private static final int STORES = 10;
    private static final int SIZE = 10_000;
    private static final long ROOM = 1L << 30;
    private static final long FULL = 1 << 20;

    @TempDir
    private Path temporary;

    private Path directory() {
        return temporary.resolve("cache");
    }

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        StoreInvariants.check(directory());
    }

    @ParameterizedTest(name = "64 threads, capacity {0}")
    @ValueSource(longs = {ROOM, FULL})
    @DisplayName("many threads of one process store at once: no store fails, all hit or are"
            + " evicted")
    void someThreads(long capacity) throws Exception {
        threads(64, capacity);
    }

    @ParameterizedTest(name = "200 threads, capacity {0}")
    @ValueSource(longs = {ROOM, FULL})
    @Tag("exhaustive")
    @DisplayName("200 threads store at once: no store fails, all hit or are evicted")
    void threads(long capacity) throws Exception {
        threads(200, capacity);
    }

    private void threads(int threads, long capacity) throws Exception {
        try (LocalTier tier = LocalTier.open(
                LocalTierConfig.builder(directory()).capacityBytes(capacity).build())) {
            check(
                    tier,
                    ContentionRun.run(tier, "thread", threads, STORES, SIZE),
                    threads * STORES,
                    1,
                    threads);
            for (int t = 0; capacity == ROOM && t < threads; t++) {
                for (int i = 0; i < STORES; i++) {
                    Entry entry = SharedEntries.entry(ContentionRun.name("thread", t) + i, SIZE);
                    assertThat(tier.load(entry.id())).isHitOf(entry);
                }
            }
        }
    }

    @Test
    @DisplayName("4 processes store at once: no store fails, and the capacity holds")
    void someProcesses() throws Exception {
        processes(4, FULL / 2);
    }

    @ParameterizedTest(name = "{0} processes, capacity {1}")
    @CsvSource({"64, " + FULL, "8, " + ROOM})
    @Tag("exhaustive")
    @DisplayName("many processes store at once: no store fails, and the capacity holds")
    void processes(int count, long capacity) throws Exception {
        List<InteractiveProcess> processes = new ArrayList<>();
        try (LocalTier tier = LocalTier.open(
                LocalTierConfig.builder(directory()).capacityBytes(capacity).build())) {
            for (int i = 0; i < count; i++) {
                processes.add(TierProcess.start(directory(), capacity));
            }
            for (InteractiveProcess process : processes) {
                // the process has started
                assertEquals("Absent", process.request("load nothing 1"));
            }
            for (int i = 0; i < count; i++) {
                processes.get(i).send("contend process" + i + " 2 " + STORES + " " + SIZE);
            }
            ContentionRun result = new ContentionRun(0, 0, 0, "");
            for (InteractiveProcess process : processes) {
                result = result.and(ContentionRun.parse(process.answer()));
            }
            for (InteractiveProcess process : processes) {
                assertEquals(0, process.finish());
            }
            check(tier, result, count * 2 * STORES, count, 2 * count);
        } finally {
            processes.forEach(InteractiveProcess::close);
        }
    }

    /**
     * Checks the outcomes, the bound of the usage, and that a sweep brings it below the capacity.
     */
    private static void check(
            LocalTier tier, ContentionRun result, int stores, int processes, int threads)
            throws IOException {
        System.out.println(result);
        assertEquals(stores, result.stored(), result::toString);
        assertEquals(0, result.failed(), result::toString);
        long share = tier.capacityBytes() / CapacitySweeper.FRACTION;
        // four due sweeps, and what is stored while a store waits
        assertTrue(
                tier.usage().diskBytes()
                        <= tier.capacityBytes()
                                + share * (4 + 3L * processes)
                                + threads * CapacitySweeper.onDisk(SIZE),
                tier.usage()::toString);
        assertTrue(tier.enforceCapacity());
        assertTrue(tier.usage().diskBytes() <= tier.capacityBytes());
    }
}
