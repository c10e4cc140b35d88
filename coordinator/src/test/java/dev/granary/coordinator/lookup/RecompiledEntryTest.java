package dev.granary.coordinator.lookup;

import static org.junit.jupiter.api.Assertions.assertEquals;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Entry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.FakePrimitive;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.statistics.LookupCounter;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.List;

/** Entries of a bucket that the drivers of machines report to have compiled again. */
class RecompiledEntryTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");

    private final TestFleet fleet;

    RecompiledEntryTest(@TempDir Path directory) throws Exception {
        this.fleet = new TestFleet(directory);
    }

    @AfterEach
    void stop() {
        fleet.close();
    }

    private static Entry entry(FakeDescriptor descriptor) {
        return TestEntries.entry(descriptor.getId(), FakeEngine.binaries(descriptor, "ci"));
    }

    private static FakeEngine recompiling(String name) {
        FakeEngine engine = new FakeEngine(name);
        engine.restoreBehavior = FakeEngine.RestoreBehavior.RECOMPILES;
        return engine;
    }

    /** Looks up in a new process of a machine; returns source, content and degraded hits. */
    private String lookup(String machine, FakeEngine engine) throws Exception {
        try (Granary granary = Granary.open(fleet.config(machine).build())) {
            LookupResult<FakePrimitive> found = granary.obtain(engine, A);
            byte[] binary = found.primitive()
                    .getBinaries(BinaryKind.KERNEL)
                    .toByteArrays()
                    .getFirst();
            return found.source() + ", " + new String(binary, UTF_8) + ", "
                    + granary.statistics().count(LookupCounter.RECOMPILED_BY_DRIVER);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @DisplayName("N8 an entry that two computers' drivers compile again is replaced in the bucket,"
            + " unpacked or packed: the hit of a third one is not degraded")
    void replaced(boolean isPacked) throws Exception {
        if (isPacked) {
            fleet.publish(List.of(entry(A), entry(FakeDescriptor.of("b"))));
        } else {
            fleet.publishUnpacked(List.of(entry(A)));
        }
        assertEquals("BUCKET, a by one, 1", lookup("one", recompiling("one")));
        assertEquals("LOCAL, a by one, 0", lookup("one", new FakeEngine("one")));
        assertEquals("BUCKET, a by ci, 0", lookup("reader", new FakeEngine("x")), "one computer");
        fleet.moveReportToAnotherHost();
        assertEquals("BUCKET, a by two, 1", lookup("two", recompiling("two")));
        assertEquals("BUCKET, a by two, 0", lookup("three", new FakeEngine("three")));
    }

    @Test
    @DisplayName("N8 a machine whose driver compiles every binary again reports an id once, and"
            + " replaces nothing alone")
    void oneMachine() throws Exception {
        fleet.publishUnpacked(List.of(entry(A)));
        assertEquals("BUCKET, a by one, 1", lookup("one", recompiling("one")));
        List<String> reports = fleet.keys("/q/");
        assertEquals(1, reports.size(), reports::toString);
        fleet.moveReportToAnotherHost();
        assertEquals("BUCKET, a by two, 1", lookup("two", recompiling("two")));
        assertEquals("BUCKET, a by two, 0", lookup("reader", new FakeEngine("x")));
        for (String machine : List.of("one", "two")) {
            for (int i = 0; i < 3; i++) {
                assertEquals(
                        "LOCAL, a by again " + i + ", 1",
                        lookup(machine, recompiling("again " + i)));
            }
        }
        assertEquals(reports, fleet.keys("/q/"), "no report of the fresh contents");
        assertEquals("BUCKET, a by two, 0", lookup("later reader", new FakeEngine("x")));
    }

    @Test
    @DisplayName("N8 a driver that compiles again to the same bytes is not reported")
    void sameBytes() throws Exception {
        fleet.publishUnpacked(List.of(entry(A)));
        assertEquals("BUCKET, a by ci, 1", lookup("one", recompiling("ci")));
        assertEquals(List.of(), fleet.keys("/q/"));
    }
}
