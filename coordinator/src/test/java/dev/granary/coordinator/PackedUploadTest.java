package dev.granary.coordinator;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.machine.UploadOutbox;
import dev.granary.coordinator.publish.PackUploader;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.tier.TestTiers;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.s3.BucketTier;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.embedded.ConditionMode;
import dev.granary.testing.Await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Uploads of many entries in packs, with a real server. */
class PackedUploadTest {
    private final Path directory;
    private final TestFleet fleet;

    PackedUploadTest(@TempDir Path directory) throws Exception {
        this.directory = directory;
        this.fleet = new TestFleet(directory);
    }

    @AfterEach
    void stop() {
        fleet.close();
    }

    /** Returns a machine whose lookups wait for the bucket, however busy the cores are. */
    private GranaryBuilder machine(String name) throws Exception {
        return Granary.builder()
                .config(fleet.config(name).bucketWait(TestNode.LONG).build())
                .published((_, id, result) -> fleet.published.put(id, result));
    }

    private Granary openInPacks(String name) throws Exception {
        return machine(name).inPacks().open();
    }

    private void compile(Granary granary, int kernels) throws Exception {
        for (FakeDescriptor kernel : TestFleet.kernels(kernels)) {
            granary.lookup(fleet.engine, kernel);
            granary.flush(Duration.ZERO); // as populate does after each kernel
        }
    }

    private long count(Class<? extends StoreResult> kind) {
        return fleet.published.values().stream().filter(kind::isInstance).count();
    }

    @Test
    @DisplayName("compiled entries become one pack, which the head names, written by the flush with"
            + " time and not before")
    void onePack() throws Exception {
        try (Granary granary = openInPacks("ci")) {
            compile(granary, 20);
            assertEquals(Map.of(), fleet.published);
            assertEquals(List.of(), fleet.keys("/p/"));
            fleet.requests();
            assertTrue(granary.flush(TestNode.LONG));
            List<String> requests = new ArrayList<>(fleet.requests());
            // checks for duplicates
            requests.removeIf(
                    request -> request.equals("HEAD entry") || request.equals("GET entry"));
            requests.removeIf(
                    request -> request.equals("GET head") || request.equals("GET marker"));
            assertEquals(
                    List.of("PUT none-match head", "PUT none-match pack", "PUT match head"),
                    requests);
            assertEquals(20, count(StoreResult.Stored.class));
            assertTrue(granary.flush(TestNode.LONG));
        }
        assertEquals(List.of(20), fleet.packs());
        assertEquals(List.of(), fleet.keys("/e/"));
        fleet.requests();
        try (Granary node = machine("node").open()) {
            for (FakeDescriptor kernel : TestFleet.kernels(20)) {
                assertEquals(
                        PrimitiveSource.BUCKET,
                        node.lookup(fleet.engine, kernel).source());
            }
            assertEquals(
                    20 + 1,
                    fleet.requests().stream().filter("GET range pack"::equals).count(),
                    "each entry, and the index");
        }
        assertEquals(20, fleet.engine.compiles.get());
    }

    @Test
    @DisplayName("if a process ends before its pack is sealed, the outbox has all entries, and the"
            + " next one uploads them")
    void outbox() throws Exception {
        TestNode node = new TestNode(directory.resolve("ci"), new FakeBucket());
        Granary stopped = Granary.builder()
                .config(fleet.config("ci").flushLimit(Duration.ZERO).build())
                .inPacks()
                .published((_, id, result) -> fleet.published.put(id, result))
                .open();
        compile(stopped, 5);
        Await.holds(() -> node.sessionFiles(UploadOutbox.DIRECTORY).size() == 5);
        stopped.close();
        assertEquals(5, stopped.statistics().count(Counter.UPLOADS_LEFT));
        assertEquals(5, node.sessionFiles(UploadOutbox.DIRECTORY).size());
        assertEquals(List.of(), fleet.keys("/p/"));
        try (Granary next = openInPacks("ci")) {
            assertTrue(next.flush(TestNode.LONG));
            assertEquals(5, next.statistics().count(Counter.UPLOADS_INHERITED));
        }
        assertEquals(List.of(5), fleet.packs());
        assertEquals(List.of(), node.sessionFiles(UploadOutbox.DIRECTORY));
    }

    @Test
    @DisplayName("an outcome of a tuning is published unpacked, where one writer alone creates"
            + " a revision")
    void outcome() throws Exception {
        Id id = Id.builder(TestFleet.kernels(1).getFirst().getId().target())
                .field("kind", "tuning")
                .field("revision", "0")
                .build();
        try (BucketTier bucket = TierFactory.bucket(
                        fleet.config("x").build().buckets().getFirst(), Optional.empty());
                PackUploader uploader = new PackUploader(bucket, TestTiers.local(bucket))) {
            List<StoreResult> results = new ArrayList<>();
            uploader.send(TestEntries.entry(id, KernelBinaries.of(new byte[10])), results::add);
            assertEquals(1, results.size());
            assertThat(results.getFirst()).isStored();
        }
        assertEquals(
                List.of(1, 0),
                List.of(fleet.keys("/e/").size(), fleet.keys("/p/").size()));
    }

    private void compileOffline(String machine, int kernels) throws Exception {
        try (Granary offline =
                Granary.open(new TestNode(directory.resolve(machine), new FakeBucket())
                        .config()
                        .build())) {
            compile(offline, kernels);
            assertTrue(offline.flush(TestNode.LONG));
        }
    }

    @Test
    @DisplayName("An entry that is damaged in its pack is published unpacked by another machine,"
            + " and found by each process from then on")
    void damagedInPack() throws Exception {
        try (Granary granary = openInPacks("ci")) {
            compile(granary, 3);
            assertTrue(granary.flush(TestNode.LONG));
        }
        fleet.change(fleet.keys("/p/").getFirst(), bytes -> {
            bytes[100] ^= 1; // of the first entry
            return bytes;
        });
        compileOffline("other", 3);
        fleet.published.clear();
        try (Granary granary = openInPacks("other")) {
            TestFleet.kernels(3).forEach(kernel -> assertTrue(granary.publish(kernel.getId())));
            assertTrue(granary.flush(TestNode.LONG));
        }
        assertEquals(2, count(StoreResult.Duplicate.class));
        assertEquals(1, count(StoreResult.Stored.class));
        assertEquals(1, fleet.keys("/e/").size());
        assertEquals(List.of(3), fleet.packs());
        try (Granary node = machine("node").open()) {
            for (FakeDescriptor kernel : TestFleet.kernels(3)) {
                assertEquals(
                        PrimitiveSource.BUCKET,
                        node.lookup(fleet.engine, kernel).source());
            }
        }
    }

    @Test
    @DisplayName("entries of the bucket, in packs or not, are duplicates, also from another"
            + " machine")
    void duplicates() throws Exception {
        for (String machine : List.of("ci", "other")) {
            compileOffline(machine, 6);
        }
        try (BucketTier bucket = TierFactory.bucket(
                fleet.config("x").build().buckets().getFirst(), Optional.empty())) {
            Entry unpacked = TestEntries.entry(
                    TestFleet.kernels(1).getFirst().getId(),
                    FakeEngine.binaries(TestFleet.kernels(1).getFirst(), "one"));
            assertThat(bucket.store(unpacked)).isStored();
        }
        for (String machine : List.of("ci", "other")) {
            fleet.published.clear();
            try (Granary granary = openInPacks(machine)) {
                TestFleet.kernels(6).forEach(kernel -> assertTrue(granary.publish(kernel.getId())));
                assertTrue(granary.flush(TestNode.LONG));
            }
            assertEquals(machine.equals("ci") ? 1 : 6, count(StoreResult.Duplicate.class), machine);
            assertEquals(machine.equals("ci") ? 5 : 0, count(StoreResult.Stored.class), machine);
        }
        assertEquals(List.of(5), fleet.packs());
    }

    @Test
    @DisplayName("a server without conditional writes gets each entry unpacked")
    void noConditions() throws Exception {
        fleet.server.conditions(ConditionMode.IGNORED);
        try (BucketTier bucket = TierFactory.bucket(
                fleet.config("x").build().buckets().getFirst(), Optional.empty())) {
            assertFalse(bucket.check().isEmpty());
        }
        try (Granary granary = openInPacks("ci")) {
            compile(granary, 5);
            assertTrue(granary.flush(TestNode.LONG));
        }
        assertEquals(5, count(StoreResult.Stored.class));
        assertEquals(
                List.of(5, 0, 0),
                List.of(
                        fleet.keys("/e/").size(),
                        fleet.keys("/p/").size(),
                        fleet.keys("/head").size()));
    }

    @Test
    @DisplayName("an entry that is too large for a pack is sent unpacked, at once")
    void tooLarge() throws Exception {
        Entry large = new TestEntries("PackedUploadTest").entry(33 << 20);
        List<StoreResult> results = new ArrayList<>();
        try (BucketTier bucket = fleet.bucket();
                PackUploader uploader = new PackUploader(bucket, TestTiers.local(bucket))) {
            uploader.send(large, results::add);
            assertThat(results.getFirst()).isStored();
            uploader.finish();
        }
        assertEquals(
                List.of(1, 1, 0),
                List.of(
                        results.size(),
                        fleet.keys("/e/").size(),
                        fleet.keys("/p/").size()));
    }

    @Test
    @DisplayName("if a pack cannot be written, its entries are published unpacked")
    void refused() throws Exception {
        TestNode node = new TestNode(directory.resolve("ci"), new FakeBucket());
        fleet.proxy.plan(FaultPlan.when(
                request ->
                        request.operation().startsWith("PUT") && request.key().contains("/p/"),
                new Fault.Lost(Fault.DENIED)));
        try (Granary granary = openInPacks("ci")) {
            compile(granary, 4);
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(4, count(StoreResult.Stored.class));
        }
        assertEquals(4, fleet.keys("/e/").size());
        assertEquals(List.of(), node.sessionFiles(UploadOutbox.DIRECTORY));
    }

    @Test
    @DisplayName("if nothing can be written, listeners get the cause, and the next process"
            + " uploads from the outbox")
    void refusedToo() throws Exception {
        TestNode node = new TestNode(directory.resolve("ci"), new FakeBucket());
        fleet.proxy.plan(FaultPlan.when(
                request -> request.operation().startsWith("PUT"), new Fault.Lost(Fault.DENIED)));
        try (Granary granary = openInPacks("ci")) {
            compile(granary, 4);
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(4, count(StoreResult.Refused.class));
            fleet.published
                    .values()
                    .forEach(result -> assertTrue(
                            result.toString().contains("AccessDenied"), result::toString));
            assertEquals(4, TestNode.closed(granary).count(Counter.UPLOADS_LEFT));
            assertEquals(4, node.sessionFiles(UploadOutbox.DIRECTORY).size());
        }
        fleet.proxy.plan(FaultPlan.SOUND);
        try (Granary next = openInPacks("ci")) {
            assertTrue(next.flush(TestNode.LONG));
            assertEquals(4, next.statistics().count(Counter.UPLOADS_INHERITED));
        }
        assertEquals(List.of(4), fleet.packs());
        assertEquals(List.of(), node.sessionFiles(UploadOutbox.DIRECTORY));
    }
}
