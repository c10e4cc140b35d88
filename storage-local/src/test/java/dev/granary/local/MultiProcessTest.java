package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.file.StoreStep;
import dev.granary.testing.InteractiveProcess;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Tests of several real processes on one directory: visibility, races, stalls, and kills after each
 * step.
 */
@Timeout(600)
final class MultiProcessTest {
    private static final int SIZE = KillScenario.SIZE;

    @TempDir
    private Path temporary;

    private Path directory() {
        return temporary.resolve("cache");
    }

    private LocalTierConfig.Builder config() {
        // some holders stall
        return LocalTierConfig.builder(directory())
                .background(Runnable::run)
                .storeTimeout(Duration.ofMillis(250));
    }

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        StoreInvariants.check(directory());
    }

    @Test
    @DisplayName("D2 two processes see each other's writes without a restart")
    void seeEachOther() throws Exception {
        try (LocalTier here = LocalTier.open(config().build());
                InteractiveProcess there = TierProcess.start(directory(), Long.MAX_VALUE)) {
            assertEquals("Absent", there.request("load mine " + SIZE));
            here.store(SharedEntries.entry("mine", SIZE));
            assertEquals("Hit", there.request("load mine " + SIZE));
            assertEquals("Stored", there.request("store yours " + SIZE));
            assertThat(here.load(SharedEntries.entry("yours", SIZE).id()))
                    .isHitOf(SharedEntries.entry("yours", SIZE));
            assertEquals("Duplicate", there.request("store mine " + SIZE));
            here.discard(SharedEntries.entry("mine", SIZE));
            assertEquals("Absent", there.request("load mine " + SIZE));
            here.clear();
            assertEquals("Absent", there.request("load yours " + SIZE));
            assertEquals("Stored", there.request("store yours " + SIZE));
            assertThat(here.load(SharedEntries.entry("yours", SIZE).id()))
                    .isHitOf(SharedEntries.entry("yours", SIZE));
            assertEquals(StoreInvariants.entryBytes(here), here.usedBytes());
            assertEquals(0, there.finish());
        }
    }

    @Test
    @DisplayName(
            "D5 racing writers and a looping reader: entries are whole or absent, stay once seen,"
                    + " none is lost or left over")
    void writersAndReader() throws Exception {
        int count = 60;
        List<Entry> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(SharedEntries.entry("race" + i, SIZE));
        }
        List<InteractiveProcess> writers = new ArrayList<>();
        try (LocalTier reader = LocalTier.open(config().build())) {
            for (int i = 0; i < 3; i++) {
                writers.add(TierProcess.start(directory(), Long.MAX_VALUE));
            }
            for (InteractiveProcess writer : writers) {
                // the process has started
                assertEquals("Absent", writer.request("load nothing 1"));
            }
            for (InteractiveProcess writer : writers) {
                // all create the directory at the same time
                writer.send("many race " + count + " " + SIZE);
            }
            Set<Integer> seen = new HashSet<>();
            while (seen.size() < count && !Thread.currentThread().isInterrupted()) {
                for (int i = 0; i < count; i++) {
                    switch (reader.load(all.get(i).id())) {
                        case LoadResult.Hit hit -> {
                            assertEquals(all.get(i).binaries(), hit.entry().binaries());
                            seen.add(i);
                        }
                        case LoadResult.Absent _ ->
                            assertTrue(
                                    !seen.contains(i),
                                    "entry " + i + " was present and is missing");
                        case LoadResult other -> throw new AssertionError(other.toString());
                    }
                }
            }
            assertEquals(count, seen.size());
            for (InteractiveProcess writer : writers) {
                assertEquals("done", writer.answer());
                assertEquals(0, writer.finish());
            }
            assertEquals(count, StoreInvariants.listed(reader).size());
            assertEquals(
                    StoreInvariants.entryBytes(reader),
                    reader.usedBytes(),
                    "exact without a sweep: racing writers share the counts");
        } finally {
            writers.forEach(InteractiveProcess::close);
        }
    }

    @Test
    @DisplayName(
            "E1 the capacity holds across short processes that store one entry each; their uses"
                    + " count; half of them end abruptly")
    void shortProcesses() throws Exception {
        long capacity = 5 * (SIZE + 600L);
        for (int i = 0; i < 8; i++) {
            try (InteractiveProcess process = TierProcess.start(directory(), capacity)) {
                assertEquals("Stored", process.request("store short" + i + " " + SIZE));
                if (i == 4) {
                    assertEquals("Hit", process.request("load short0 " + SIZE));
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
            assertThat(tier.load(SharedEntries.entry("short7", SIZE).id()))
                    .isHitOf(SharedEntries.entry("short7", SIZE));
            assertThat(tier.load(SharedEntries.entry("short0", SIZE).id()))
                    .isHitOf(SharedEntries.entry("short0", SIZE));
            assertThat(tier.load(SharedEntries.entry("short1", SIZE).id())).isAbsent();
            assertThat(tier.load(SharedEntries.entry("short2", SIZE).id())).isAbsent();
        }
    }

    @Test
    @DisplayName(
            "E3 the evicting process stalls: others store up to 1/4 above the capacity, then fail"
                    + " softly, and continue once it is killed")
    void stalledSweeper() throws Exception {
        long capacity = 2 << 20;
        try (LocalTier tier = LocalTier.open(config().capacityBytes(capacity).build());
                InteractiveProcess process = TierProcess.start(directory(), capacity)) {
            tier.store(SharedEntries.entry("old0", SIZE));
            process.request("stop " + StoreStep.CLOSED);
            assertEquals("AT " + StoreStep.CLOSED, process.request("sweep"));
            int stored = 0;
            while (tier.store(SharedEntries.entry("more" + stored, SIZE))
                    instanceof StoreResult.Stored) {
                stored++;
            }
            assertThat(tier.store(SharedEntries.entry("more" + stored, SIZE))).isFailed();
            assertTrue(
                    tier.diskBytes() > capacity && tier.diskBytes() < capacity / 2 * 3,
                    () -> tier.diskBytes() + " bytes on the disk");
            assertThat(tier.load(SharedEntries.entry("old0", SIZE).id()))
                    .isHitOf(SharedEntries.entry("old0", SIZE));
            process.kill();
            assertThat(tier.store(SharedEntries.entry("more" + stored, SIZE))).isStored();
            assertTrue(tier.diskBytes() <= capacity, () -> tier.diskBytes() + " bytes on the disk");
        }
    }

    @Test
    @DisplayName("D4 there is a scenario for every step")
    void allSteps() {
        assertEquals(
                EnumSet.allOf(StoreStep.class),
                KillScenario.all().stream().map(KillScenario::step).collect(Collectors.toSet()));
    }

    static List<KillScenario> sample() {
        return KillScenario.oneForEachStep(TestSeed.random("MultiProcessTest"));
    }

    @ParameterizedTest(name = "D4 D18 killed after {0}")
    @MethodSource("sample")
    @DisplayName(
            "D4 D18 a process stopped, then killed after each step, in one operation that has it:"
                    + " no reader waits, no old entry is lost, the new one is visible after the"
                    + " commit")
    void killedAfter(KillScenario scenario) throws Exception {
        kill(scenario);
    }

    static List<KillScenario> scenarios() {
        return KillScenario.all();
    }

    @ParameterizedTest(name = "D4 D18 killed after {0}")
    @MethodSource("scenarios")
    @DisplayName("D4 D18 the same after each step of each operation")
    @Tag("exhaustive")
    void killedAfterEach(KillScenario scenario) throws Exception {
        kill(scenario);
    }

    private void kill(KillScenario scenario) throws Exception {
        try (LocalTier tier =
                LocalTier.open(config().capacityBytes(KillScenario.CAPACITY).build())) {
            scenario.work().prepare(tier);
        }
        try (InteractiveProcess process = TierProcess.start(directory(), KillScenario.CAPACITY)) {
            process.request("stop " + scenario.step());
            assertEquals(
                    "AT " + scenario.step(), process.request(scenario.work().command()));
            try (LocalTier tier = LocalTier.open(config().build())) {
                assertPresent(scenario, tier);
                Entry other = SharedEntries.entry("other", SIZE);
                assertThat(tier.store(other))
                        .is(
                                scenario.holdsLock()
                                        ? StoreResult.Failed.class
                                        : StoreResult.Stored.class);
                assertEquals(
                        !scenario.holdsLock(), tier.load(other.id()) instanceof LoadResult.Hit);
                assertPresent(scenario, tier);
            }
            process.kill();
        }
        try (LocalTier tier = LocalTier.open(config().build())) {
            assertPresent(scenario, tier);
            Entry next = SharedEntries.entry("next", SIZE);
            assertThat(tier.store(next)).as("no store waits for a dead process").isStored();
            assertThat(tier.load(next.id())).isHitOf(next);
            assertPresent(scenario, tier); // also the entry to be replaced, if it was not
            Entry fresh = SharedEntries.entry("fresh", SIZE);
            assertEquals(
                    scenario.isCommitted() ? StoreResult.Duplicate.class : StoreResult.Stored.class,
                    tier.store(fresh).getClass());
            assertThat(tier.load(fresh.id())).isHitOf(fresh);
            assertEquals(
                    StoreInvariants.entryBytes(tier),
                    tier.usedBytes(),
                    "the counts were recovered");
            assertEquals(StoreInvariants.listed(tier).size(), tier.usage().entries());
            assertPresent(scenario, tier);
        }
    }

    static List<KillScenario> unlocked() {
        return KillScenario.unlocked();
    }

    @ParameterizedTest(name = "D5 continues after {0}")
    @MethodSource("unlocked")
    @DisplayName(
            "D5 a process stalls after each step while another removes everything, then continues:"
                    + " stored entries are present and whole")
    @Tag("exhaustive")
    void continuesAfter(KillScenario scenario) throws Exception {
        Entry other = SharedEntries.entry("other", SIZE);
        Entry fresh = SharedEntries.entry("fresh", SIZE);
        try (LocalTier tier = LocalTier.open(
                        config().capacityBytes(KillScenario.CAPACITY).build());
                InteractiveProcess process =
                        TierProcess.start(directory(), KillScenario.CAPACITY)) {
            scenario.work().prepare(tier);
            process.request("stop " + scenario.step());
            assertEquals(
                    "AT " + scenario.step(), process.request(scenario.work().command()));
            // reclaims the segments that the process writes to, or is about to reclaim
            tier.clear();
            assertThat(tier.store(other)).isStored();

            String answer = process.request(TierProcess.RESUME);
            if (scenario.work() == KillScenario.Work.STORE
                    || scenario.work() == KillScenario.Work.STORE_SEVERAL) {
                assertEquals("Stored", answer);
                assertEquals(
                        scenario.step() != StoreStep.COMMITTED,
                        tier.load(fresh.id()) instanceof LoadResult.Hit);
            } else {
                assertEquals(
                        scenario.work() == KillScenario.Work.LOWER_CAPACITY ? "done" : "true",
                        answer);
            }
            assertThat(tier.load(other.id())).isHitOf(other);
            assertEquals("Stored", process.request("store next " + SIZE));
            Entry next = SharedEntries.entry("next", SIZE);
            assertThat(tier.load(next.id())).isHitOf(next);
            assertThat(tier.load(SharedEntries.entry("nothing", 1).id())).isAbsent();
            tier.list(listed ->
                    assertThat(tier.read(listed)).as(listed.toString()).isHit());
            assertEquals(StoreInvariants.entryBytes(tier), tier.usedBytes());
            assertEquals(0, process.finish());
        }
    }

    private static void assertPresent(KillScenario scenario, LocalTier tier) {
        for (String name : List.of("old0", "old1")) {
            Entry old = SharedEntries.entry(name, SIZE);
            if (scenario.hasOldEntries()) {
                assertThat(tier.load(old.id())).isHitOf(old);
            } else {
                assertThat(tier.load(old.id())).isAbsent();
            }
        }
        Entry fresh = SharedEntries.entry("fresh", SIZE);
        LoadResult found = tier.load(fresh.id());
        // the old or the new entry, until the next process recovers
        if (scenario.work() == KillScenario.Work.REPLACE) {
            assertThat(found).isHit();
        } else if (scenario.isCommitted()) {
            assertThat(found).isHitOf(fresh);
        }
    }
}
