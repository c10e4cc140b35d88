package dev.granary.coordinator.lookup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Entry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.FakePrimitive;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.admin.LookupExplainer;
import dev.granary.coordinator.admin.LookupExplanation;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.LookupCounter;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Restores that take long: of a driver that silently compiles again, and of a loaded machine.
 * Processor time is burnt and measured for real; a load of the machine changes no result.
 */
class SlowRestoreTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");

    /** More than half of the compile time in the entries. */
    private static final long SLOW_NANOS =
            FakePrimitive.COMPILE_TIME.dividedBy(2).plusMillis(30).toNanos();

    private final TestFleet fleet;

    SlowRestoreTest(@TempDir Path directory) throws Exception {
        this.fleet = new TestFleet(directory);
    }

    @AfterEach
    void stop() {
        fleet.close();
    }

    private static void burn() {
        var threads = ManagementFactory.getThreadMXBean();
        long end = threads.getCurrentThreadCpuTime() + SLOW_NANOS;
        while (threads.getCurrentThreadCpuTime() < end) {
            Thread.onSpinWait();
        }
    }

    private static void sleep() {
        long end = System.nanoTime() + SLOW_NANOS;
        while (System.nanoTime() < end) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
        }
    }

    private static FakeEngine engine(String version, Runnable restore) {
        FakeEngine engine = new FakeEngine(version);
        engine.beforeRestore = restore;
        return engine;
    }

    /**
     * Looks up in a new process of a machine; returns source, degraded hits and skipped entries.
     */
    private String lookup(String machine, FakeEngine engine) throws Exception {
        return lookup(fleet.config(machine).build(), engine);
    }

    private static String lookup(GranaryConfig config, FakeEngine engine) throws Exception {
        try (Granary granary = Granary.open(config)) {
            LookupResult<FakePrimitive> found = granary.obtain(engine, A);
            return found.source() + " "
                    + granary.statistics().count(LookupCounter.RECOMPILED_BY_DRIVER) + " "
                    + granary.statistics().count(LookupCounter.SLOW_RESTORES);
        }
    }

    private static String lookupOffline(TestNode node, FakeEngine engine) throws Exception {
        return lookup(node.config().build(), engine);
    }

    private String content(String machine, FakeEngine engine) throws Exception {
        try (Granary granary = Granary.open(fleet.config(machine).build())) {
            return new String(
                    granary.primitive(engine, A)
                            .getBinaries(BinaryKind.KERNEL)
                            .toByteArrays()
                            .getFirst(),
                    StandardCharsets.UTF_8);
        }
    }

    @Test
    @DisplayName("N8 a driver that silently compiles again: the second slow restore counts as"
            + " degraded, then the kernel is compiled once, and a fresh entry replaces the old one")
    void silentCompile() throws Exception {
        assertEquals("COMPILED 0 0", lookup("one", new FakeEngine("ci")));
        FakeEngine engine = engine("node", SlowRestoreTest::burn);
        assertEquals("LOCAL 0 0", lookup("one", engine), "suspected by the clock");
        assertEquals("LOCAL 1 0", lookup("one", engine), "confirmed by the processor time");
        LookupExplanation explanation = new LookupExplainer(
                        fleet.config("one").build(), InstantSource.system())
                .explain(A.getId(), List.of(), Optional.empty());
        assertInstanceOf(
                LookupExplanation.Result.Slow.class,
                explanation.answers().getFirst().result());
        assertInstanceOf(LookupExplanation.Outcome.Compile.class, explanation.outcome());
        assertEquals("COMPILED 0 2", lookup("one", engine), "in both tiers");
        assertEquals(1, engine.compiles.get());
        List<String> later = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            later.add(lookup("one", engine));
        }
        assertEquals(
                List.of("LOCAL 0 0", "LOCAL 0 0"),
                later,
                "once for an id, even if the fresh entry is as slow: no loop");
        assertEquals(1, engine.compiles.get());
        assertEquals("a by node", content("one", new FakeEngine("x")));
        assertEquals("a by ci", content("other", new FakeEngine("x")), "one machine of the bucket");
    }

    @Test
    @DisplayName("N8 a slow entry is restored all the same where its source does not compile")
    void withoutCompiler() throws Exception {
        fleet.publishUnpacked(List.of(entry("ci")));
        FakeEngine engine = engine("node", SlowRestoreTest::burn);
        assertEquals("BUCKET 0 0", lookup("one", engine));
        assertEquals("LOCAL 1 0", lookup("one", engine));
        engine.hasCompiler = false;
        assertEquals("LOCAL 1 2", lookup("one", engine));
        assertEquals("LOCAL 1 2", lookup("one", engine), "each time");
        engine.hasCompiler = true;
        assertEquals("COMPILED 0 2", lookup("one", engine), "nothing was replaced meanwhile");
    }

    private static Entry entry(String producer) {
        return Entry.of(
                A.getId(),
                FakeEngine.binaries(A, producer),
                FakePrimitive.COMPILE_TIME,
                TestEntries.entry(A.getId(), FakeEngine.binaries(A, producer))
                        .metadata()
                        .orElseThrow());
    }

    @Test
    @DisplayName("N8 a restore that only waits, as on a loaded machine, is never degraded")
    void loadedMachine(@TempDir Path directory) throws Exception {
        TestNode node = new TestNode(directory.resolve("node"), new FakeBucket());
        assertEquals("COMPILED 0 0", lookupOffline(node, new FakeEngine("ci")));
        FakeEngine engine = engine("node", SlowRestoreTest::sleep);
        for (int i = 0; i < 4; i++) {
            assertEquals("LOCAL 0 0", lookupOffline(node, engine));
        }
        FakeEngine alternating = engine("node", () -> {});
        assertEquals("LOCAL 0 0", lookupOffline(node, alternating));
        alternating.beforeRestore = SlowRestoreTest::burn;
        assertEquals(
                "LOCAL 0 0",
                lookupOffline(node, alternating),
                "the suspicion had ended: this is the first slow restore");
        assertEquals(0, engine.compiles.get());
    }

    @Test
    @DisplayName("N8 a virtual thread, whose processor time is unknown, restores as ever")
    void virtualThread(@TempDir Path directory) throws Exception {
        TestNode node = new TestNode(directory.resolve("node"), new FakeBucket());
        assertEquals("COMPILED 0 0", lookupOffline(node, new FakeEngine("ci")));
        FakeEngine engine = engine("node", SlowRestoreTest::sleep);
        List<Object> results = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Thread.ofVirtual()
                    .start(() -> {
                        try {
                            results.add(lookupOffline(node, engine));
                        } catch (Exception e) {
                            results.add(e);
                        }
                    })
                    .join();
        }
        assertEquals(List.of("LOCAL 0 0", "LOCAL 0 0", "LOCAL 0 0"), results);
    }
}
