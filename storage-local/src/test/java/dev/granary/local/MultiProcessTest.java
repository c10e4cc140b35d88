package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.testing.InteractiveProcess;
import dev.granary.testing.TestRuns;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
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
    private static final int REPLACEMENTS = TestRuns.count(125);

    @TempDir
    private Path temporary;

    private Path directory() {
        return temporary.resolve("cache");
    }

    private LocalTierConfig.Builder config() {
        return LocalTierConfig.builder(directory()).background(Runnable::run);
    }

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        StoreInvariants.checkAfterKill(directory());
    }

    @Test
    @DisplayName("two processes see each other's writes without a restart")
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
            assertEquals(0, there.finish());
        }
    }

    @Test
    @DisplayName("racing writers and a looping reader: entries are whole or absent, stay once seen,"
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
            assertEquals(count, reader.usage().entries());
        } finally {
            writers.forEach(InteractiveProcess::close);
        }
    }

    @Test
    @DisplayName("of two processes that replace one entry by turns, a looping reader sees whole"
            + " versions and nothing else")
    void replacingAndReader() throws Exception {
        List<Entry> versions =
                List.of(SharedEntries.entry("turn", SIZE), SharedEntries.entry("turn", 3 * SIZE));
        try (LocalTier reader = LocalTier.open(config().build());
                InteractiveProcess one = TierProcess.start(directory(), Long.MAX_VALUE);
                InteractiveProcess two = TierProcess.start(directory(), Long.MAX_VALUE)) {
            assertThat(reader.store(versions.getFirst())).isStored();
            one.send("replace turn " + REPLACEMENTS + " " + SIZE);
            two.send("replace turn " + REPLACEMENTS + " " + SIZE);
            Thread watch = Thread.ofPlatform().start(() -> {
                try {
                    assertEquals("done", one.answer());
                    assertEquals("done", two.answer());
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            while (watch.isAlive()) {
                LoadResult result = reader.load(versions.getFirst().id());
                Entry read = assertThat(result).isHit();
                assertTrue(versions.stream()
                        .anyMatch(each -> each.binaries().equals(read.binaries())));
            }
            assertEquals(0, one.finish() + two.finish());
        }
    }

    @Test
    @DisplayName("the capacity holds across many short processes that store one entry each, half"
            + " of which end abruptly")
    void shortProcesses() throws Exception {
        long capacity = 16 * CapacitySweeper.onDisk(SIZE + 600);
        long most = 0;
        // in one process, since the share of its first sweep is what makes a process short
        for (int i = 0; i < TestRuns.count(125); i++) {
            LocalTier tier = LocalTier.open(LocalTierConfig.builder(directory())
                    .capacityBytes(capacity)
                    .background(i % 2 == 0 ? Runnable::run : _ -> {})
                    .build());
            assertThat(tier.store(SharedEntries.entry("short" + i, SIZE))).isStored();
            if (i % 4 < 2) {
                tier.close();
            }
            try (LocalTier after = LocalTier.open(config().build())) {
                most = Math.max(most, after.usage().diskBytes());
            }
        }
        assertTrue(most < 2 * capacity, "at most " + most);
    }

    @Test
    @DisplayName(
            "a sweeping process is suspended: others load and store, and sweep after" + " a while")
    void stalledSweeper() throws Exception {
        long capacity = 20 * CapacitySweeper.onDisk(SIZE + 600);
        try (LocalTier tier = StoreInvariants.openRegular(
                        config().capacityBytes(capacity).build());
                InteractiveProcess process = TierProcess.start(directory(), capacity)) {
            tier.store(SharedEntries.entry("old0", SIZE));
            process.request("stop " + StoreStep.SCANNED);
            assertEquals("AT " + StoreStep.SCANNED, process.request("sweep"));
            for (int i = 0; i < 100; i++) {
                Entry more = SharedEntries.entry("more" + i, SIZE);
                assertThat(tier.store(more)).isStored();
                assertThat(tier.load(more.id())).isHitOf(more);
                assertTrue(tier.usage().diskBytes() <= capacity * 3 / 2);
            }
            assertTrue(tier.enforceCapacity());
            assertTrue(tier.usage().diskBytes() <= capacity);
            assertEquals("true", process.request(TierProcess.RESUME));
        }
    }

    @Test
    @DisplayName("there is a scenario for every step")
    void allSteps() {
        assertEquals(
                EnumSet.allOf(StoreStep.class),
                KillScenario.all().stream().map(KillScenario::step).collect(Collectors.toSet()));
    }

    static List<KillScenario> scenarios() {
        return KillScenario.all();
    }

    @ParameterizedTest(name = "killed after {0}")
    @MethodSource("scenarios")
    @DisplayName("a process stopped, then killed after each step of each operation: no wait,"
            + " no old entry is lost, the new one is visible after the commit")
    void killedAfter(KillScenario scenario) throws Exception {
        Entry other = SharedEntries.entry("other", SIZE);
        Entry fresh = SharedEntries.entry("fresh", SIZE);
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
                assertThat(tier.store(other)).isStored();
                assertThat(tier.load(other.id())).isHitOf(other);
                assertPresent(scenario, tier);
            }
            process.kill();
        }
        try (LocalTier tier = LocalTier.open(config().build())) {
            assertThat(tier.load(other.id())).isHitOf(other);
            assertPresent(scenario, tier); // also the entry to be replaced, if it was not
            assertEquals(
                    scenario.isCommitted() ? StoreResult.Duplicate.class : StoreResult.Stored.class,
                    tier.store(fresh).getClass());
            assertThat(tier.load(fresh.id())).isHitOf(fresh);
            assertTrue(tier.enforceCapacity(), "no sweep waits for a dead process");
            assertPresent(scenario, tier);
        }
    }

    @ParameterizedTest(name = "continues after {0}")
    @MethodSource("scenarios")
    @DisplayName(
            "a process stalls after each step while another removes everything, then continues:"
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
            tier.clear();
            assertThat(tier.store(other)).isStored();
            String answer = process.request(TierProcess.RESUME);
            if (scenario.work().command().startsWith("store")) {
                assertEquals("Stored", answer);
                assertEquals(
                        !scenario.isCommitted(), tier.load(fresh.id()) instanceof LoadResult.Hit);
            }
            if (scenario.work() != KillScenario.Work.CLEAR) { // which goes on to remove everything
                assertThat(tier.load(other.id())).isHitOf(other);
            }
            assertEquals("Stored", process.request("store next " + SIZE));
            Entry next = SharedEntries.entry("next", SIZE);
            assertThat(tier.load(next.id())).isHitOf(next);
            assertThat(tier.load(SharedEntries.entry("nothing", 1).id())).isAbsent();
            tier.list(listed ->
                    assertThat(tier.read(listed)).as(listed.toString()).isHit());
            assertEquals(0, process.finish());
        }
    }

    private static void assertPresent(KillScenario scenario, LocalTier tier) {
        for (String name : List.of("old0", "old1")) {
            Entry old = SharedEntries.entry(name, SIZE);
            if (scenario.hasOldEntries()) {
                assertThat(tier.load(old.id())).isHitOf(old);
            }
        }
        Entry fresh = SharedEntries.entry("fresh", SIZE);
        LoadResult found = tier.load(fresh.id());
        if (scenario.work() == KillScenario.Work.REPLACE) {
            assertThat(found).isHit();
        } else if (scenario.isCommitted()) {
            assertThat(found).isHitOf(fresh);
        }
    }
}
