package dev.granary.local;

import static dev.granary.cache.contract.PersistentCacheContract.assertHit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Several real processes on one directory: seeing each other, racing, being killed in every step. */
@Timeout(60)
final class ProcessesTest {
    private static final int SIZE = 10_000;

    @TempDir
    private Path temporary;

    private Path directory() {
        return temporary.resolve("cache");
    }

    private LocalConfig.Builder config() {
        return LocalConfig.builder(directory()).background(Runnable::run);
    }

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        Invariants.check(directory());
    }

    @Test
    @DisplayName("D2 two processes see each other's writes without a restart")
    void seeEachOther() throws Exception {
        try (LocalTier here = LocalTier.open(config().build());
                TierProcess there = TierProcess.start(directory(), Long.MAX_VALUE, "")) {
            assertEquals("Absent", there.ask("load mine " + SIZE));
            here.store(Material.entry("mine", SIZE));
            assertEquals("Hit", there.ask("load mine " + SIZE));
            assertEquals("Stored", there.ask("store yours " + SIZE));
            assertHit(Material.entry("yours", SIZE), here.load(Material.entry("yours", SIZE).id()));
            assertEquals("Duplicate", there.ask("store mine " + SIZE));
            here.discard(Material.entry("mine", SIZE));
            assertEquals("Absent", there.ask("load mine " + SIZE));
            assertEquals(Invariants.entryBytes(directory()), here.usedBytes());
            assertEquals(0, there.finish());
        }
    }

    @Test
    @DisplayName("D5 writers race and a reader loops: whole or absent, once seen always there, nothing lost, nothing left over")
    void writersAndReader() throws Exception {
        int count = 60;
        List<Entry> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(Material.entry("race" + i, SIZE));
        }
        List<TierProcess> writers = new ArrayList<>();
        try (LocalTier reader = LocalTier.open(config().build())) {
            reader.store(Material.entry("before", SIZE)); // counted in peace: no sweep is due in the race
            for (int i = 0; i < 3; i++) {
                writers.add(TierProcess.start(directory(), Long.MAX_VALUE, ""));
            }
            for (TierProcess writer : writers) {
                assertEquals("Absent", writer.ask("load nothing 1")); // up and running
            }
            for (TierProcess writer : writers) {
                writer.send("many race " + count + " " + SIZE);
            }
            Set<Integer> seen = new HashSet<>();
            while (seen.size() < count) {
                for (int i = 0; i < count; i++) {
                    switch (reader.load(all.get(i).id())) {
                        case LoadResult.Hit hit -> {
                            assertEquals(all.get(i).binaries(), hit.entry().binaries());
                            seen.add(i);
                        }
                        case LoadResult.Absent _ -> assertTrue(!seen.contains(i), "entry " + i + " was there and is gone");
                        case LoadResult other -> throw new AssertionError(other.toString());
                    }
                }
            }
            for (TierProcess writer : writers) {
                assertEquals("done", writer.answer());
                assertEquals(0, writer.finish());
            }
            assertEquals(count + 1, Invariants.entryFiles(directory()).size());
            assertEquals(Invariants.entryBytes(directory()), reader.usedBytes(), "exact without a sweep: racing writers share the account");
        } finally {
            writers.forEach(TierProcess::close);
        }
    }

    @Test
    @DisplayName("E1 the limit holds across short processes that store one entry each, and uses in them count; half of them end abruptly")
    void shortProcesses() throws Exception {
        long capacity = 5 * (SIZE + 600L);
        for (int i = 0; i < 8; i++) {
            try (TierProcess process = TierProcess.start(directory(), capacity, "")) {
                assertEquals("Stored", process.ask("store short" + i + " " + SIZE));
                if (i == 4) {
                    assertEquals("Hit", process.ask("load short0 " + SIZE));
                    assertEquals(0, process.finish());
                } else if (i % 2 == 0) {
                    process.send("halt");
                    assertEquals(7, process.finish());
                } else {
                    assertEquals(0, process.finish());
                }
            }
            assertTrue(Invariants.entryBytes(directory()) <= capacity, "after process " + i);
        }
        try (LocalTier tier = LocalTier.open(config().build())) {
            assertHit(Material.entry("short7", SIZE), tier.load(Material.entry("short7", SIZE).id()));
            assertHit(Material.entry("short0", SIZE), tier.load(Material.entry("short0", SIZE).id()));
            assertEquals(LoadResult.ABSENT, tier.load(Material.entry("short1", SIZE).id()));
            assertEquals(LoadResult.ABSENT, tier.load(Material.entry("short2", SIZE).id()));
        }
    }

    @ParameterizedTest(name = "D4 D18 killed after {0}")
    @EnumSource(Step.class)
    @DisplayName("D4 D18 a writer stopped, then killed after each step: nobody waits, nothing old is lost, the new is there from the commit on")
    void killedAfter(Step step) throws Exception {
        Entry old = Material.entry("old", SIZE);
        Entry fresh = Material.entry("fresh", SIZE);
        Entry other = Material.entry("other", SIZE);
        boolean committed = step.compareTo(Step.RENAMED) >= 0;
        try (LocalTier tier = LocalTier.open(config().build())) {
            tier.store(old);
        }
        try (TierProcess writer = TierProcess.start(directory(), Long.MAX_VALUE, step.name())) {
            assertEquals("AT " + step, writer.ask("store fresh " + SIZE));
            try (LocalTier tier = LocalTier.open(config().build())) { // the writer is alive, and stands still
                assertHit(old, tier.load(old.id()));
                assertEquals(committed, tier.load(fresh.id()) instanceof LoadResult.Hit);
                assertInstanceOf(StoreResult.Stored.class, tier.store(other));
                assertHit(other, tier.load(other.id()));
            }
            writer.kill();
        }
        try (LocalTier tier = LocalTier.open(config().build())) {
            assertHit(old, tier.load(old.id()));
            assertHit(other, tier.load(other.id()));
            assertEquals(committed, tier.load(fresh.id()) instanceof LoadResult.Hit);
            assertEquals(committed ? StoreResult.Duplicate.class : StoreResult.Stored.class, tier.store(fresh).getClass());
            assertHit(fresh, tier.load(fresh.id()));
            Entry next = Material.entry("next", SIZE);
            assertInstanceOf(StoreResult.Stored.class, tier.store(next));
            assertEquals(Invariants.entryBytes(directory()), tier.usedBytes(), "the account found out by itself");
        }
        InstantSource later = InstantSource.offset(InstantSource.system(), TemporaryFiles.STALE.plus(Duration.ofMinutes(1)));
        try (LocalTier tier = LocalTier.open(config().clock(later).build())) {
            assertTrue(tier.sweepNow());
            assertEquals(committed ? 0 : 1, tier.statistics().sweptTemporaryFiles());
        }
    }
}
