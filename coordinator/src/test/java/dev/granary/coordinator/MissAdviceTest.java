package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.coordinator.tier.CompileTimes;
import dev.granary.coordinator.tier.MissAdvice;
import dev.granary.coordinator.tier.TestTiers;
import dev.granary.coordinator.tier.Tiers.Layer;
import dev.granary.coordinator.tier.TimeBudget;
import dev.granary.local.SharedDirectory;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Advice for processes whose lookups all miss in a layer, with a bucket of a real server. */
class MissAdviceTest {
    private static final Target OTHER_DEVICE =
            new Target(Backend.OPENCL, "test-vendor", "Test Device 1", "1.2.3");
    private static final String BEGIN = "None of 3 lookups hit in bucket: it has entries for ";

    private final TestEntries entries = new TestEntries("MissAdviceTest");
    private final TestFleet fleet;
    private final Path directory;

    MissAdviceTest(@TempDir Path directory) throws Exception {
        this.fleet = new TestFleet(directory);
        this.directory = directory;
    }

    @AfterEach
    void close() {
        fleet.close();
    }

    private Entry entry(Target target) {
        return entries.entry(entries.id().withTarget(target), 100);
    }

    /** Returns the advice on a layer to which the process does not upload. */
    private Optional<String> advice(PersistentCache cache, int misses, Id... hits) {
        return advice(false, cache, misses, hits);
    }

    /** Returns the advice after lookups, and checks that it took few requests. */
    private Optional<String> advice(
            boolean isTarget, PersistentCache cache, int misses, Id... hits) {
        Layer layer = TestTiers.layer(cache, new TimeBudget(new CompileTimes(), TestNode.LONG));
        for (int i = 0; i < misses; i++) {
            layer.tier().load(List.of(entries.id()), Deadline.NONE);
        }
        for (Id hit : hits) {
            layer.tier().load(List.of(hit), Deadline.NONE);
        }
        fleet.server.resetRequests();
        Optional<String> advice = MissAdvice.on(layer, isTarget);
        assertTrue(fleet.server.requests().total() <= 2, fleet.server.requests()::toString);
        layer.tier().close();
        return advice;
    }

    @Test
    @DisplayName("Entries for another driver, or for other devices, are named")
    void targets() {
        assertEquals(Optional.empty(), advice(fleet.bucket(), 3), "nothing to compare with");
        fleet.publishUnpacked(List.of(entry(OTHER_DEVICE)));
        fleet.put("../no target/e/x", "text");
        assertEquals(
                Optional.of(BEGIN + "device test-device-1; this machine has test-device-9000."),
                advice(fleet.bucket(), 3));
        fleet.publish(List.of(entry(TestEntries.OTHER_TARGET)));
        assertEquals(
                Optional.of(BEGIN + "driver 1.2.4; this machine has 1.2.3."),
                advice(fleet.bucket(), 3));
        for (int i = 5; i < 9; i++) {
            fleet.publishUnpacked(List.of(entry(
                    new Target(Backend.OPENCL, "test-vendor", "Test Device 9000", "1.2." + i))));
        }
        assertEquals(
                Optional.of(BEGIN + "driver 1.2.4, 1.2.5, 1.2.6 and 2 more; this machine has"
                        + " 1.2.3."),
                advice(fleet.bucket(), 3));
    }

    @Test
    @DisplayName("Two misses, or a hit, or entries of the same target that this process may have"
            + " uploaded, are no reason")
    void noReason() {
        Entry own = entry(TestEntries.TARGET);
        fleet.publishUnpacked(List.of(entry(TestEntries.OTHER_TARGET)));
        assertEquals(Optional.empty(), advice(fleet.bucket(), 2));
        fleet.publishUnpacked(List.of(own));
        assertEquals(Optional.empty(), advice(fleet.bucket(), 5, own.id()));
        assertTrue(advice(fleet.bucket(), 3).orElseThrow().contains("of other sources or options"));
        assertEquals(Optional.empty(), advice(true, fleet.bucket(), 3));
    }

    @Test
    @DisplayName("The same for a shared directory; one that is missing is no reason")
    void sharedDirectory() {
        Path shared = directory.resolve("shared");
        assertEquals(
                Optional.empty(), advice(new SharedDirectory(shared, true, TrustPolicy.OFF), 3));
        new SharedDirectory(shared, true, TrustPolicy.OFF).store(entry(TestEntries.OTHER_TARGET));
        assertEquals(
                Optional.of(BEGIN + "driver 1.2.4; this machine has 1.2.3."),
                advice(new SharedDirectory(shared, false, TrustPolicy.OFF), 3));
    }

    @Test
    @DisplayName("A close logs it once for each layer of a process")
    void logged() throws Exception {
        fleet.publishUnpacked(List.of(entry(TestEntries.OTHER_TARGET)));
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        PrintStream err = System.err;
        System.setErr(new PrintStream(log, true, UTF_8));
        try {
            for (String machine : List.of("one", "two")) {
                try (Granary granary =
                        Granary.open(fleet.config(machine, TestFleet.BUCKET + "?access=read")
                                .bucketWait(TestNode.LONG)
                                .build())) {
                    for (FakeDescriptor kernel : TestFleet.kernels(4)) {
                        granary.primitive(fleet.engine, kernel);
                    }
                }
            }
        } finally {
            System.setErr(err);
        }
        List<String> lines = log.toString(UTF_8)
                .lines()
                .filter(line -> line.contains("None of 4 lookups hit in s3://kernels/ci"))
                .toList();
        assertEquals(1, lines.size(), log::toString);
        assertTrue(lines.getFirst().contains(" WARN "), lines::toString);
    }
}
