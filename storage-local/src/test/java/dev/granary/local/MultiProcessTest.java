package dev.granary.local;

import static dev.granary.cache.contract.PersistentCacheContract.assertHit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.file.StoreStep;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Several real processes on one directory: seeing each other, racing, standing still and being killed in every step. */
@Timeout(600)
final class MultiProcessTest {
    private static final int SIZE = KillScenario.SIZE;

    @TempDir
    private Path temporary;

    private Path directory() {
        return temporary.resolve("cache");
    }

    private LocalTierConfig.Builder config() {
        return LocalTierConfig.builder(directory()).background(Runnable::run).storeTimeout(Duration.ofMillis(250)); // some holders stand still
    }

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        StoreInvariants.check(directory());
    }

    @Test
    @DisplayName("D2 two processes see each other's writes without a restart")
    void seeEachOther() throws Exception {
        try (LocalTier here = LocalTier.open(config().build());
                TierProcess there = TierProcess.start(directory(), Long.MAX_VALUE)) {
            assertEquals("Absent", there.ask("load mine " + SIZE));
            here.store(SharedEntries.entry("mine", SIZE));
            assertEquals("Hit", there.ask("load mine " + SIZE));
            assertEquals("Stored", there.ask("store yours " + SIZE));
            assertHit(SharedEntries.entry("yours", SIZE), here.load(SharedEntries.entry("yours", SIZE).id()));
            assertEquals("Duplicate", there.ask("store mine " + SIZE));
            here.discard(SharedEntries.entry("mine", SIZE));
            assertEquals("Absent", there.ask("load mine " + SIZE));
            here.clear();
            assertEquals("Absent", there.ask("load yours " + SIZE));
            assertEquals("Stored", there.ask("store yours " + SIZE));
            assertHit(SharedEntries.entry("yours", SIZE), here.load(SharedEntries.entry("yours", SIZE).id()));
            assertEquals(StoreInvariants.entryBytes(here), here.usedBytes());
            assertEquals(0, there.finish());
        }
    }

    @Test
    @DisplayName("D5 writers race and a reader loops: whole or absent, once seen always there, nothing lost, nothing left over")
    void writersAndReader() throws Exception {
        int count = 60;
        List<Entry> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(SharedEntries.entry("race" + i, SIZE));
        }
        List<TierProcess> writers = new ArrayList<>();
        try (LocalTier reader = LocalTier.open(config().build())) {
            for (int i = 0; i < 3; i++) {
                writers.add(TierProcess.start(directory(), Long.MAX_VALUE));
            }
            for (TierProcess writer : writers) {
                assertEquals("Absent", writer.ask("load nothing 1")); // up and running
            }
            for (TierProcess writer : writers) {
                writer.send("many race " + count + " " + SIZE); // all begin the directory at once
            }
            Set<Integer> seen = new HashSet<>();
            while (seen.size() < count && !Thread.currentThread().isInterrupted()) {
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
            assertEquals(count, seen.size());
            for (TierProcess writer : writers) {
                assertEquals("done", writer.answer());
                assertEquals(0, writer.finish());
            }
            assertEquals(count, StoreInvariants.listed(reader).size());
            assertEquals(StoreInvariants.entryBytes(reader), reader.usedBytes(), "exact without a sweep: racing writers share the account");
        } finally {
            writers.forEach(TierProcess::close);
        }
    }

    @Test
    @DisplayName("E1 the limit holds across short processes that store one entry each, and uses in them count; half of them end abruptly")
    void shortProcesses() throws Exception {
        long capacity = 5 * (SIZE + 600L);
        for (int i = 0; i < 8; i++) {
            try (TierProcess process = TierProcess.start(directory(), capacity)) {
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
            try (LocalTier tier = LocalTier.open(config().build())) {
                assertTrue(StoreInvariants.entryBytes(tier) <= capacity, "after process " + i);
                assertTrue(tier.diskBytes() <= capacity, "on the disk after process " + i);
            }
        }
        try (LocalTier tier = LocalTier.open(config().build())) {
            assertHit(SharedEntries.entry("short7", SIZE), tier.load(SharedEntries.entry("short7", SIZE).id()));
            assertHit(SharedEntries.entry("short0", SIZE), tier.load(SharedEntries.entry("short0", SIZE).id()));
            assertEquals(LoadResult.ABSENT, tier.load(SharedEntries.entry("short1", SIZE).id()));
            assertEquals(LoadResult.ABSENT, tier.load(SharedEntries.entry("short2", SIZE).id()));
        }
    }

    @Test
    @DisplayName("E3 the process that evicts stands still: others store up to a quarter more, then fail softly, and go on once it is killed")
    void sweeperStandsStill() throws Exception {
        long capacity = 2 << 20;
        try (LocalTier tier = LocalTier.open(config().capacityBytes(capacity).build());
                TierProcess process = TierProcess.start(directory(), capacity)) {
            tier.store(SharedEntries.entry("old0", SIZE));
            process.ask("stop " + StoreStep.CLOSED);
            assertEquals("AT " + StoreStep.CLOSED, process.ask("sweep"));
            int stored = 0;
            while (tier.store(SharedEntries.entry("more" + stored, SIZE)) instanceof StoreResult.Stored) {
                stored++;
            }
            assertInstanceOf(StoreResult.Failed.class, tier.store(SharedEntries.entry("more" + stored, SIZE)));
            assertTrue(tier.diskBytes() > capacity && tier.diskBytes() < capacity / 2 * 3, () -> tier.diskBytes() + " bytes on the disk");
            assertHit(SharedEntries.entry("old0", SIZE), tier.load(SharedEntries.entry("old0", SIZE).id()));
            process.kill();
            assertInstanceOf(StoreResult.Stored.class, tier.store(SharedEntries.entry("more" + stored, SIZE)));
            assertTrue(tier.diskBytes() <= capacity, () -> tier.diskBytes() + " bytes on the disk");
        }
    }

    @Test
    @DisplayName("D4 there is a scenario for every step")
    void allSteps() {
        assertEquals(EnumSet.allOf(StoreStep.class), KillScenario.all().stream().map(KillScenario::step).collect(Collectors.toSet()));
    }

    static List<KillScenario> scenarios() {
        return KillScenario.all();
    }

    @ParameterizedTest(name = "D4 D18 killed after {0}")
    @MethodSource("scenarios")
    @DisplayName("D4 D18 a process stopped, then killed after each step: no reader waits, nothing old is lost, the new is there from the commit on")
    void killedAfter(KillScenario scenario) throws Exception {
        try (LocalTier tier = LocalTier.open(config().capacityBytes(KillScenario.CAPACITY).build())) {
            scenario.work().prepare(tier);
        }
        try (TierProcess process = TierProcess.start(directory(), KillScenario.CAPACITY)) {
            process.ask("stop " + scenario.step());
            assertEquals("AT " + scenario.step(), process.ask(scenario.work().command()));
            try (LocalTier tier = LocalTier.open(config().build())) {
                assertIsThere(scenario, tier);
                Entry other = SharedEntries.entry("other", SIZE);
                assertEquals(scenario.holdsLock() ? StoreResult.Failed.class : StoreResult.Stored.class, tier.store(other).getClass());
                assertEquals(!scenario.holdsLock(), tier.load(other.id()) instanceof LoadResult.Hit);
                assertIsThere(scenario, tier);
            }
            process.kill();
        }
        try (LocalTier tier = LocalTier.open(config().build())) {
            assertIsThere(scenario, tier);
            Entry next = SharedEntries.entry("next", SIZE);
            assertInstanceOf(StoreResult.Stored.class, tier.store(next), "a dead process keeps nobody waiting");
            assertHit(next, tier.load(next.id()));
            assertIsThere(scenario, tier); // also what was to be replaced, where it was not
            Entry fresh = SharedEntries.entry("fresh", SIZE);
            assertEquals(scenario.isCommitted() ? StoreResult.Duplicate.class : StoreResult.Stored.class, tier.store(fresh).getClass());
            assertHit(fresh, tier.load(fresh.id()));
            assertEquals(StoreInvariants.entryBytes(tier), tier.usedBytes(), "the counts were put in order by themselves");
            assertEquals(StoreInvariants.listed(tier).size(), tier.usage().entries());
            assertIsThere(scenario, tier);
        }
    }

    static List<KillScenario> unlocked() {
        return KillScenario.unlocked();
    }

    @ParameterizedTest(name = "D5 goes on after {0}")
    @MethodSource("unlocked")
    @DisplayName("D5 a process stands still after each step while another removes everything, then goes on: what is stored is there, and whole")
    void goesOnAfter(KillScenario scenario) throws Exception {
        Entry other = SharedEntries.entry("other", SIZE);
        Entry fresh = SharedEntries.entry("fresh", SIZE);
        try (LocalTier tier = LocalTier.open(config().capacityBytes(KillScenario.CAPACITY).build());
                TierProcess process = TierProcess.start(directory(), KillScenario.CAPACITY)) {
            scenario.work().prepare(tier);
            process.ask("stop " + scenario.step());
            assertEquals("AT " + scenario.step(), process.ask(scenario.work().command()));
            tier.clear(); // gives back the segments that the process writes to, or that it is about to give back
            assertInstanceOf(StoreResult.Stored.class, tier.store(other));

            String answer = process.goOn();
            if (scenario.work() == KillScenario.Work.STORE || scenario.work() == KillScenario.Work.STORE_SEVERAL) {
                assertEquals("Stored", answer);
                assertEquals(scenario.step() != StoreStep.COMMITTED, tier.load(fresh.id()) instanceof LoadResult.Hit);
            } else {
                assertEquals(scenario.work() == KillScenario.Work.LOWER_CAPACITY ? "done" : "true", answer);
            }
            assertHit(other, tier.load(other.id()));
            assertEquals("Stored", process.ask("store next " + SIZE));
            Entry next = SharedEntries.entry("next", SIZE);
            assertHit(next, tier.load(next.id()));
            assertInstanceOf(LoadResult.Absent.class, tier.load(SharedEntries.entry("nothing", 1).id()));
            tier.list(listed -> assertInstanceOf(LoadResult.Hit.class, tier.read(listed), listed.toString()));
            assertEquals(StoreInvariants.entryBytes(tier), tier.usedBytes());
            assertEquals(0, process.finish());
        }
    }

    private static void assertIsThere(KillScenario scenario, LocalTier tier) {
        for (String name : List.of("old0", "old1")) {
            Entry old = SharedEntries.entry(name, SIZE);
            if (scenario.keepsOld()) {
                assertHit(old, tier.load(old.id()));
            } else {
                assertEquals(LoadResult.ABSENT, tier.load(old.id()));
            }
        }
        Entry fresh = SharedEntries.entry("fresh", SIZE);
        LoadResult found = tier.load(fresh.id());
        if (scenario.work() == KillScenario.Work.REPLACE) { // one or the other, until the next process puts it in order
            assertInstanceOf(LoadResult.Hit.class, found);
        } else if (scenario.isCommitted()) {
            assertHit(fresh, found);
        }
    }
}
