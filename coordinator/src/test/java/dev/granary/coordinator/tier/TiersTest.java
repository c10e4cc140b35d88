package dev.granary.coordinator.tier;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Deadline;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.FakeCatalog;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.FakePrimitive;
import dev.granary.coordinator.GateBucket;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.machine.Totals;
import dev.granary.coordinator.machine.UploadOutbox;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.s3.BucketTier;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Layers: the bucket of a team over that of a company over that of a vendor. */
class TiersTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");
    private static final FakeDescriptor B = FakeDescriptor.of("b");

    private final Path directory;
    private final FakeEngine engine = new FakeEngine("one");
    private final FakeBucket team = new FakeBucket();
    private final FakeBucket company = new FakeBucket();
    private final FakeBucket vendor = new FakeBucket();

    TiersTest(@TempDir Path directory) {
        this.directory = directory;
    }

    private GranaryConfigBuilder config(String machine, String... buckets) throws Exception {
        GranaryConfigBuilder builder = new TestNode(directory.resolve(machine), new FakeBucket())
                .config()
                .flushLimit(TestNode.LONG);
        for (String bucket : buckets) {
            builder.bucket(bucket);
        }
        return builder;
    }

    private static List<Integer> holdings(List<BucketConfig> buckets) throws Exception {
        return buckets.stream()
                .map(bucket -> {
                    try (BucketTier tier = TierFactory.bucket(bucket, Optional.empty())) {
                        return FakeCatalog.entries(tier).size();
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                })
                .toList();
    }

    @Test
    @DisplayName("a hit is stored in the local directory and in no layer; a compiled entry goes to"
            + " the first writable layer only")
    void teamOverCompanyOverVendor() throws Exception {
        try (EmbeddedS3 s3 = EmbeddedS3.start(null)) {
            System.setProperty("aws.accessKeyId", s3.accessKey());
            System.setProperty("aws.secretAccessKey", s3.secretKey());
            List.of("team", "company", "vendor").forEach(s3::createBucket);
            String endpoint = s3.endpoint().toString();
            try (Granary vendor = Granary.open(
                    config("vendor", "s3://vendor/k").endpoint(endpoint).build())) {
                vendor.connect();
                assertEquals(PrimitiveSource.COMPILED, vendor.lookup(engine, A).source());
            }
            GranaryConfig first = config(
                            "first",
                            "s3://team/x, s3://company/kernels?access=read",
                            "s3://vendor/k?access=read&client=minio")
                    .endpoint(endpoint)
                    .build();
            assertEquals(List.of(0, 0, 1), holdings(first.buckets()));
            GranaryConfig before = config(
                            "before",
                            "s3://team/x?access=read, s3://company/kernels?access=read",
                            "s3://vendor/k?access=read&client=minio")
                    .endpoint(endpoint)
                    .build();
            try (Granary granary = Granary.open(before)) {
                // loads classes, which on a busy machine takes longer than the deadline of a lookup
                granary.connect();
                granary.lookup(new FakeEngine("one"), A);
            }
            try (BucketTier team =
                    TierFactory.bucket(first.buckets().getFirst(), Optional.empty())) {
                team.check(); // so that no probe is needed later
            }
            s3.resetRequests();
            try (Granary granary = Granary.open(first)) {
                granary.connect();
                s3.resetRequests();
                LookupResult<FakePrimitive> result = granary.lookup(engine, A);
                assertEquals(
                        List.of(PrimitiveSource.BUCKET, OptionalInt.of(2)),
                        List.of(result.source(), result.layer()));
                assertTrue(granary.flush(TestNode.LONG));
                // each layer gets one request for packs and one for the entry
                assertEquals(
                        List.of(6L, 0L),
                        List.of(s3.requests().get(), s3.requests().put()));
                assertEquals(
                        List.of(0L, 0L, 1L),
                        granary.statistics().layers().stream()
                                .map(layer -> layer.count(Counter.LAYER_HITS))
                                .toList());
                assertEquals(
                        List.of(0L, 0L, 0L),
                        granary.statistics().layers().stream()
                                .map(layer -> layer.count(Counter.LAYER_STORED))
                                .toList());
                assertEquals(1, granary.statistics().count(Counter.LOCAL_STORED));
                assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, B).source());
            }
            assertEquals(List.of(1, 0, 1), holdings(first.buckets()));
            s3.resetRequests();
            try (Granary again = Granary.open(first)) {
                assertEquals(PrimitiveSource.LOCAL, again.lookup(engine, A).source());
                assertEquals(PrimitiveSource.LOCAL, again.lookup(engine, B).source());
            }
            assertEquals(
                    0,
                    s3.requests().get() + s3.requests().put() + s3.requests().head(),
                    "no request is sent");
            GranaryConfig second = config("second", "s3://team/x s3://company/kernels?access=read")
                    .endpoint(endpoint)
                    .build();
            try (Granary other = Granary.open(second)) {
                other.connect();
                s3.resetRequests();
                assertEquals(OptionalInt.of(0), other.lookup(engine, B).layer());
                assertTrue(other.flush(TestNode.LONG));
                assertEquals(
                        List.of(2L, 0L),
                        List.of(s3.requests().get(), s3.requests().put()));
            }
            assertEquals(1, new Totals(first.directory()).read().get("layer-hits"));
            assertEquals(
                    1,
                    new Totals(first.directory())
                            .read()
                            .get("layer-hits s3://vendor/k at " + endpoint));
            assertEquals(2, engine.compiles.get());
        } finally {
            System.clearProperty("aws.accessKeyId");
            System.clearProperty("aws.secretAccessKey");
        }
    }

    private static Granary over(GranaryConfig config, FakeBucket... buckets) throws Exception {
        return TestNode.over(config, buckets);
    }

    @Test
    @DisplayName("a later process uploads what another left, to each of several buckets")
    void uploadsSurviveForEachBucket() throws Exception {
        team.behavior = FakeBucket.Behavior.HANGS;
        company.behavior = FakeBucket.Behavior.HANGS;
        TestNode node = new TestNode(directory.resolve("local"), team);
        leaveUpload(node, "s3://team", team, B);
        leaveUpload(node, "s3://company", company, A);
        assertEquals(2, node.sessionFiles(UploadOutbox.DIRECTORY).size());
        team.behavior = FakeBucket.Behavior.WORKS;
        company.behavior = FakeBucket.Behavior.WORKS;
        try (Granary next = over(config("local", "s3://company").build(), company)) {
            assertTrue(next.flush(TestNode.LONG));
            assertEquals(1, next.statistics().count(Counter.UPLOADS_INHERITED));
        }
        try (Granary next = over(
                config("local", "s3://vendor?access=read", "s3://team").build(), vendor, team)) {
            assertTrue(next.flush(TestNode.LONG));
            assertEquals(1, next.statistics().count(Counter.UPLOADS_INHERITED));
        }
        assertEquals(Set.of(A.getId()), company.entries.keySet());
        assertEquals(Set.of(B.getId()), team.entries.keySet());
        assertEquals(List.of(), node.sessionFiles(UploadOutbox.DIRECTORY));
    }

    /** Compiles in a process that ends before its bucket has answered the upload. */
    private void leaveUpload(
            TestNode node, String name, FakeBucket bucket, FakeDescriptor descriptor)
            throws Exception {
        int before = node.sessionFiles(UploadOutbox.DIRECTORY).size();
        Granary stopped =
                over(config("local", name).flushLimit(Duration.ofMillis(50)).build(), bucket);
        assertEquals(
                PrimitiveSource.COMPILED, stopped.lookup(engine, descriptor).source());
        Await.holds(() -> node.sessionFiles(UploadOutbox.DIRECTORY).size() != before);
        stopped.close();
        assertEquals(1, stopped.statistics().count(Counter.UPLOADS_LEFT));
    }

    @Test
    @DisplayName("if the entry of one layer is damaged, or the driver rejects it, the next is used,"
            + " and nothing is written to either")
    void badEntryAbove() throws Exception {
        team.behavior = FakeBucket.Behavior.IS_DAMAGED;
        company.store(TestEntries.entry(A.getId(), FakeEngine.binaries(A, "company")));
        try (Granary granary =
                over(config("local", "s3://team s3://company").build(), team, company)) {
            LookupResult<FakePrimitive> result = granary.lookup(engine, A);
            assertEquals(
                    FakeEngine.binaries(A, "company"),
                    result.primitive().getBinaries(BinaryKind.KERNEL));
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, team.stores.get() + company.stores.get(), "by the test");
        }
        team.behavior = FakeBucket.Behavior.WORKS;
        engine.restoreBehavior = FakeEngine.RestoreBehavior.REFUSES;
        team.store(TestEntries.entry(B.getId(), FakeEngine.binaries(B, "team")));
        company.store(TestEntries.entry(B.getId(), FakeEngine.binaries(B, "company")));
        try (Granary granary =
                over(config("other", "s3://team s3://company").build(), team, company)) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, B).source());
            assertEquals(2, granary.statistics().count(Counter.RESTORES_REFUSED));
        }
    }

    @Test
    @DisplayName("silent buckets share one deadline: each is tried, twice, and the lookup ends")
    void allAreSilent() throws Exception {
        GranaryConfig config =
                config("local", "s3://team s3://company s3://vendor").build();
        List<GateBucket> silent = List.of(new GateBucket(), new GateBucket(), new GateBucket());
        Tiers.Sources sources = new Tiers.Sources(
                Optional.empty(),
                List.of(),
                List.of(),
                TestTiers.buckets(silent),
                InstantSource.system());
        try (Tiers opened = Tiers.open(config, sources, TestTiers.NO_LISTENERS)) {
            Tiers tiers = new Tiers(
                    opened.local(),
                    opened.directory(),
                    opened.layers(),
                    opened.compileTimes(),
                    Duration.ofSeconds(3));
            assertEquals(
                    Optional.empty(),
                    tiers.search(List.of(A.getId()), Deadline.NONE, Optional::of));
            assertEquals(
                    List.of(1L, 1L, 1L),
                    tiers.layers().stream()
                            .map(layer -> layer.statistics().count(Counter.LAYER_UNAVAILABLE))
                            .toList());
            assertEquals(
                    List.of(2, 2, 2),
                    silent.stream().map(bucket -> bucket.requested.size()).toList());
        } finally {
            silent.forEach(bucket -> bucket.answer(2));
        }
    }

    @Test
    @DisplayName("a bucket that is down does not affect those after it")
    void oneIsDown() throws Exception {
        team.behavior = FakeBucket.Behavior.IS_DOWN;
        company.store(TestEntries.entry(A.getId(), FakeEngine.binaries(A, "company")));
        try (Granary granary =
                over(config("local", "s3://team s3://company").build(), team, company)) {
            assertEquals(OptionalInt.of(1), granary.lookup(engine, A).layer());
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(
                    1, granary.statistics().layers().getFirst().count(Counter.LAYER_UNAVAILABLE));
        }
    }

    @Test
    @DisplayName("connect asks all layers before any has answered")
    void connect() throws Exception {
        List<GateBucket> buckets = Stream.generate(GateBucket::new).limit(8).toList();
        GranaryConfigBuilder config = config("connecting");
        for (int i = 0; i < buckets.size(); i++) {
            config.bucket("s3://bucket-" + i + "?access=read");
        }
        try (Granary granary =
                TestNode.over(config.build(), buckets.toArray(PersistentCache[]::new))) {
            Thread connecting = Thread.startVirtualThread(granary::connect);
            for (GateBucket each : buckets) {
                assertEquals(
                        Tiers.UNKNOWN_ID,
                        each.requested.poll(TestNode.LONG.toSeconds(), TimeUnit.SECONDS));
            }
            buckets.forEach(each -> each.answer(1));
            connecting.join();
        }
    }
}
