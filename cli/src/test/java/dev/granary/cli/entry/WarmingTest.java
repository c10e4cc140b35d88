package dev.granary.cli.entry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cli.entry.WarmCommand.Warming;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.local.EntryFiles;
import dev.granary.local.LocalTier;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.pack.warm.BulkEntryReader;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Warming of a local directory from buckets of a real server. */
class WarmingTest {
    private final TestFleet fleet;
    private final TestEntries entries = new TestEntries("WarmingTest");

    WarmingTest(@TempDir Path directory) throws Exception {
        this.fleet = new TestFleet(directory);
    }

    @AfterEach
    void stop() {
        fleet.close();
    }

    private static List<Entry> of(List<FakeDescriptor> kernels) {
        return kernels.stream()
                .map(kernel -> TestEntries.entry(kernel.getId(), FakeEngine.binaries(kernel, "ci")))
                .toList();
    }

    private static Warming warm(GranaryConfig config, BulkEntryReader.UnpackedEntries unpacked)
            throws Exception {
        return warm(config, config.buckets().getFirst(), unpacked);
    }

    private static Warming warm(
            GranaryConfig config, BucketConfig layer, BulkEntryReader.UnpackedEntries unpacked)
            throws Exception {
        try (LocalTier local = TierFactory.local(config)) {
            return Warming.run(config, layer, local, TestFleet.NAMESPACE, unpacked, (_, _) -> {});
        }
    }

    @Test
    @DisplayName("all entries of the target arrive with few requests; lookups and a second"
            + " warm read nothing more")
    void all() throws Exception {
        List<FakeDescriptor> kernels = TestFleet.kernels(50);
        fleet.publish(of(kernels));
        fleet.publish(List.of(TestEntries.entry(
                Id.builder(TestEntries.OTHER_TARGET).field("test", "other").build(),
                KernelBinaries.of(new byte[9]))));
        GranaryConfig config = fleet.config("node").build();
        fleet.requests();
        Warming report = warm(config, BulkEntryReader.UnpackedEntries.READ);
        assertEquals(
                List.of(50L, 50L, 0L, 0L, true),
                List.of(
                        report.wanted(),
                        report.entries().copied(),
                        report.present(),
                        report.displaced(),
                        report.isWhole()));
        List<String> requests = fleet.requests();
        assertEquals(
                List.of("GET head", "GET range pack", "LIST entry", "GET range pack"), requests);
        assertEquals(requests.size(), report.requests());
        try (Granary granary = Granary.open(config)) {
            for (FakeDescriptor kernel : kernels) {
                assertEquals(
                        PrimitiveSource.LOCAL,
                        granary.lookup(fleet.engine, kernel).source());
            }
        }
        assertEquals(List.of(), fleet.requests());
        assertEquals(0, fleet.engine.compiles.get());
        Warming again = warm(config, BulkEntryReader.UnpackedEntries.READ);
        assertEquals(
                List.of(0L, 0L, 50L, 0L),
                List.of(
                        again.wanted(),
                        again.entries().copied(),
                        again.present(),
                        again.entries().receivedBytes.sum()));
        assertEquals(
                0,
                fleet.requests().stream()
                        .filter(request -> request.startsWith("GET range"))
                        .count());
    }

    @Test
    @DisplayName(
            "Unpacked entries are read once, unless only packs are wanted; packs need no right to"
                    + " list")
    void unpackedEntries() throws Exception {
        List<FakeDescriptor> kernels = TestFleet.kernels(10);
        try (Granary ci = fleet.open("ci")) {
            for (FakeDescriptor kernel : kernels.subList(0, 6)) {
                ci.lookup(fleet.engine, kernel);
            }
            assertTrue(ci.flush(TestNode.LONG));
        }
        fleet.publish(of(kernels.subList(4, 10)));
        Warming packs = warm(fleet.config("first").build(), BulkEntryReader.UnpackedEntries.SKIP);
        assertEquals(List.of(6L, 0L), List.of(packs.entries().copied(), packs.unpacked()));
        fleet.requests();
        Warming both = warm(fleet.config("second").build(), BulkEntryReader.UnpackedEntries.READ);
        assertEquals(List.of(10L, 4L), List.of(both.entries().copied(), both.unpacked()));
        assertEquals(4, fleet.requests().stream().filter("GET entry"::equals).count());
        fleet.plan(FaultPlan.when(
                request -> request.operation().equals("LIST"), new Fault.Lost(Fault.DENIED)));
        Warming unlisted =
                warm(fleet.config("third").build(), BulkEntryReader.UnpackedEntries.READ);
        assertEquals(6, unlisted.entries().copied());
        assertTrue(unlisted.unlisted().orElseThrow().contains("AccessDenied"), unlisted::toString);
    }

    @Test
    @DisplayName("a damaged entry and a lost pack are skipped with their causes, and all"
            + " others arrive")
    void damages() throws Exception {
        List<FakeDescriptor> kernels = TestFleet.kernels(20);
        fleet.publish(of(kernels.subList(0, 12)));
        String first = fleet.keys("/p/").getFirst();
        fleet.change(first, body -> {
            body[100] ^= 1;
            return body;
        });
        fleet.publish(of(kernels.subList(12, 20)));
        String second = fleet.keys("/p/").stream()
                .filter(key -> !key.equals(first))
                .findFirst()
                .orElseThrow();
        fleet.change(second, _ -> new byte[1]);
        Warming report = warm(fleet.config("node").build(), BulkEntryReader.UnpackedEntries.READ);
        assertEquals(
                List.of(11L, 9L, false),
                List.of(
                        report.entries().copied(),
                        report.entries().failed.sum(),
                        report.isWhole()));
        assertTrue(
                report.entries().failures.keySet().stream()
                        .anyMatch(cause -> cause.startsWith("damaged")),
                report::toString);
        assertTrue(
                report.entries().failures.keySet().stream()
                        .anyMatch(cause -> cause.startsWith("a pack cannot be read")),
                report::toString);
    }

    @Test
    @DisplayName("of several buckets the first wins; a later one provides the missing entries")
    void layers() throws Exception {
        List<FakeDescriptor> kernels = TestFleet.kernels(3);
        fleet.publish(of(kernels.subList(0, 2)));
        GranaryConfig company = fleet.config("company", "s3://kernels/company").build();
        try (Granary ci = Granary.builder().config(company).inPacks().open()) {
            for (FakeDescriptor kernel : kernels) {
                ci.lookup(new FakeEngine("company"), kernel);
            }
            assertTrue(ci.flush(TestNode.LONG));
        }
        GranaryConfig both = fleet.config(
                        "node", "s3://kernels/ci s3://kernels/company?access=read")
                .build();
        assertEquals(
                2,
                warm(both, both.buckets().get(0), BulkEntryReader.UnpackedEntries.READ)
                        .entries()
                        .copied());
        Warming second = warm(both, both.buckets().get(1), BulkEntryReader.UnpackedEntries.READ);
        assertEquals(List.of(1L, 2L), List.of(second.entries().copied(), second.present()));
        try (Granary node = Granary.open(both)) {
            List<KernelBinaries> binaries = Stream.of(0, 2)
                    .map(i -> {
                        try {
                            return node.lookup(fleet.engine, kernels.get(i))
                                    .primitive()
                                    .getBinaries(BinaryKind.KERNEL);
                        } catch (Exception e) {
                            throw new IllegalStateException(e);
                        }
                    })
                    .toList();
            assertEquals(
                    List.of(
                            FakeEngine.binaries(kernels.get(0), "ci"),
                            FakeEngine.binaries(kernels.get(2), "company")),
                    binaries);
        }
    }

    @Test
    @DisplayName("a directory that is too small keeps its capacity, and the report has the evicted"
            + " entries")
    void tooSmall() throws Exception {
        fleet.publish(Stream.generate(() -> entries.entry(100 << 10)).limit(60).toList());
        GranaryConfig config = fleet.config("node").capacity("2MiB").build();
        Warming report = warm(config, BulkEntryReader.UnpackedEntries.READ);
        assertTrue(report.displaced() > 30, report::toString);
        assertEquals(
                report.entries().copied() - report.displaced(),
                Place.entries(EntryFiles.in(config.directory())).size());
    }

    @Test
    @DisplayName("a bucket that does not answer is reported, and nothing is installed")
    void unreachable() throws Exception {
        GranaryConfig config =
                fleet.config("node").endpoint("http://127.0.0.1:1").build();
        IOException failure = assertThrows(
                IOException.class, () -> warm(config, BulkEntryReader.UnpackedEntries.READ));
        assertTrue(failure.toString().contains("refused"), failure::toString);
    }
}
