package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.machine.Totals;
import dev.granary.coordinator.machine.UploadOutbox;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.examples.DirectoryCache;
import dev.granary.s3.BucketTier;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Caches of an application in the place of a layer or of the local tier. */
class PluggedCachesTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");
    private static final FakeDescriptor B = FakeDescriptor.of("b");
    private static final FakeDescriptor C = FakeDescriptor.of("c");
    private static final Duration SHORT = Duration.ofMillis(50);

    private final Path home;
    private final FakeEngine engine = new FakeEngine("one");
    private final ScriptedCache near = new ScriptedCache();
    private final ScriptedCache far = new ScriptedCache();

    PluggedCachesTest(@TempDir Path home) {
        this.home = home;
    }

    private TestNode node(String machine) {
        return new TestNode(home.resolve(machine), new FakeBucket());
    }

    private GranaryConfigBuilder config(String machine) throws Exception {
        return node(machine).config().flushLimit(TestNode.LONG).bucketWait(TestNode.LONG);
    }

    private static Entry entry(FakeDescriptor descriptor, String version) {
        return TestEntries.entry(descriptor.getId(), FakeEngine.binaries(descriptor, version));
    }

    private static List<String> names(GranaryStatistics statistics) {
        return statistics.layers().stream().map(LayerStatistics::name).toList();
    }

    @Test
    @DisplayName("a plugged layer is filled by write-behind and is hit; all is counted")
    void layer() throws Exception {
        GranaryConfig config = config("first").build();
        try (Granary granary =
                Granary.builder().config(config).layer("near", near).open()) {
            assertEquals(0, near.loads.get(), "opening requests nothing");
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
            assertTrue(granary.flush(TestNode.LONG));
            LayerStatistics layer = granary.statistics().layers().getFirst();
            assertEquals(
                    List.of("near", 1L, 0L, 1L, 0L, Optional.empty()),
                    List.of(
                            layer.name(),
                            layer.count(Counter.LAYER_LOOKUPS) - layer.count(Counter.LAYER_HITS),
                            layer.count(Counter.LAYER_HITS),
                            layer.count(Counter.LAYER_STORED),
                            layer.count(Counter.LAYER_SKIPPED),
                            layer.breaker()));
        }
        assertEquals(1, near.content.size());
        GranaryConfig other = config("second").build();
        try (Granary granary =
                Granary.builder().config(other).layer("near", near).open()) {
            LookupResult<FakePrimitive> result = granary.lookup(engine, A);
            assertEquals(PrimitiveSource.BUCKET, result.source());
            assertEquals(OptionalInt.of(0), result.layer());
            assertEquals(
                    FakeEngine.binaries(A, "one"),
                    result.primitive().getBinaries(BinaryKind.KERNEL));
            assertTrue(granary.flush(TestNode.LONG));
            GranaryStatistics statistics = granary.statistics();
            assertEquals(1, statistics.layers().getFirst().count(Counter.LAYER_HITS));
            assertEquals(
                    1,
                    statistics.count(Counter.LOCAL_LOOKUPS) - statistics.count(Counter.LOCAL_HITS));
            assertEquals(1, statistics.count(Counter.LOCAL_STORED));
            assertTrue(granary.publish(A.getId()), "the layer is writable");
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(0, granary.statistics().layers().getFirst().count(Counter.LAYER_STORED));
        }
        Map<String, Long> totals = new Totals(other.directory()).read();
        assertEquals(List.of(1L, 0L), List.of(totals.get("layer-hits"), totals.get("compiled")));
        assertEquals(List.of(1, 0), List.of(engine.compiles.get(), near.closes.get()));
    }

    @Test
    @DisplayName("layers are requested in the order of the calls, with the buckets between")
    void order() throws Exception {
        try (EmbeddedS3 s3 = EmbeddedS3.start(null)) {
            System.setProperty("aws.accessKeyId", s3.accessKey());
            System.setProperty("aws.secretAccessKey", s3.secretKey());
            s3.createBucket("team");
            GranaryConfig config = config("local")
                    .bucket("s3://team/x")
                    .endpoint(s3.endpoint().toString())
                    .build();
            far.content.store(entry(A, "far"));
            try (BucketTier team =
                    TierFactory.bucket(config.buckets().getFirst(), Optional.empty())) {
                team.store(entry(C, "team"));
            }
            try (Granary granary = Granary.builder()
                    .layer("near", near)
                    .config(config)
                    .readOnlyLayer("far", far)
                    .open()) {
                granary.connect();
                assertEquals(
                        List.of("near", config.buckets().getFirst().name(), "far"),
                        names(granary.statistics()));
                assertEquals(OptionalInt.of(2), granary.lookup(engine, A).layer());
                assertEquals(OptionalInt.empty(), granary.lookup(engine, B).layer());
                assertEquals(OptionalInt.of(1), granary.lookup(engine, C).layer());
                assertTrue(granary.flush(TestNode.LONG));
                assertEquals(
                        List.of(1L, 0L, 0L),
                        granary.statistics().layers().stream()
                                .map(layer -> layer.count(Counter.LAYER_STORED))
                                .toList());
            }
            assertEquals(
                    List.of(1, 1, 0),
                    List.of(near.content.size(), far.content.size(), far.stores.get()));
            try (BucketTier bucket =
                    TierFactory.bucket(config.buckets().getFirst(), Optional.empty())) {
                assertEquals(
                        1, FakeCatalog.entries(bucket).size(), "C; B belongs to the near layer");
            }
            Map<String, Long> totals = new Totals(config.directory()).read();
            assertEquals(
                    List.of(2L, 1L),
                    List.of(totals.get("layer-hits"), totals.get("layer-hits far")));
        } finally {
            System.clearProperty("aws.accessKeyId");
            System.clearProperty("aws.secretAccessKey");
        }
    }

    @Test
    @DisplayName("nothing is stored or discarded in a read-only layer")
    void readOnly() throws Exception {
        near.content.store(entry(A, "near"));
        far.content.store(entry(A, "far"));
        engine.restoreBehavior = FakeEngine.RestoreBehavior.REFUSES;
        try (Granary granary = Granary.builder()
                .config(config("local").build())
                .readOnlyLayer("near", near)
                .layer("far", far)
                .open()) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
            assertTrue(granary.flush(TestNode.LONG));
        }
        assertEquals(List.of(0, 0), List.of(near.stores.get(), near.discards.get()));
        assertEquals(List.of(1, 1), List.of(far.stores.get(), far.discards.get()));
        try (Granary granary = Granary.builder()
                .config(config("other").build())
                .readOnlyLayer("near", near)
                .open()) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, B).source());
            assertTrue(granary.flush(TestNode.LONG));
            assertFalse(granary.publish(B.getId()), "there is no writable layer");
        }
        assertEquals(0, near.stores.get());
    }

    @Test
    @DisplayName("a plugged layer that does not answer is skipped; its late answer counts")
    void slow() throws Exception {
        GateBucket slow = new GateBucket();
        try (Granary granary = Granary.builder()
                .config(config("local").bucketWait(SHORT).build())
                .readOnlyLayer("slow", slow)
                .open()) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, B).source());
            LayerStatistics layer = granary.statistics().layers().getFirst();
            assertTrue(layer.failure().orElseThrow().startsWith("no answer within"));
            assertTrue(
                    layer.count(Counter.LAYER_UNAVAILABLE) + layer.count(Counter.LAYER_SKIPPED) == 2
                            && layer.count(Counter.LAYER_SKIPPED) >= 1,
                    layer::toString);
            slow.answer(3);
        }
    }

    @Test
    @DisplayName("errors and foreign entries of a plugged layer are counted misses")
    void brokenContract() throws Exception {
        far.content.store(entry(A, "far"));
        far.content.store(entry(B, "far"));
        near.onLoad = id -> {
            if (id.equals(A.getId())) {
                throw new AssertionError("of a test");
            }
            return new LoadResult.Hit(entry(C, "of another id"));
        };
        near.onStore = _ -> {
            throw new NoClassDefFoundError("of a test");
        };
        try (Granary granary = Granary.builder()
                .config(config("local").build())
                .layer("near", near)
                .readOnlyLayer("far", far)
                .open()) {
            assertEquals(OptionalInt.of(1), granary.lookup(engine, A).layer());
            assertEquals(
                    FakeEngine.binaries(B, "far"),
                    granary.lookup(engine, B).primitive().getBinaries(BinaryKind.KERNEL));
            assertTrue(granary.publish(A.getId()) && granary.publish(B.getId()));
            assertTrue(granary.flush(TestNode.LONG));
            LayerStatistics layer = granary.statistics().layers().getFirst();
            assertEquals(
                    List.of(1L, 1L, 0L),
                    List.of(
                            layer.count(Counter.LAYER_UNAVAILABLE),
                            layer.count(Counter.LAYER_DAMAGED),
                            layer.count(Counter.LAYER_STORED)));
            assertEquals(2, TestNode.closed(granary).count(Counter.UPLOADS_LEFT));
        }
    }

    @Test
    @DisplayName("with a layer that hangs in load and store for ever, lookups go on and close"
            + " ends; the next process uploads")
    void hanging() throws Exception {
        CountDownLatch released = new CountDownLatch(1);
        near.onLoad = _ -> {
            ScriptedCache.hang(released);
            return LoadResult.ABSENT;
        };
        near.onStore = _ -> {
            ScriptedCache.hang(released);
            return new StoreResult.Failed("released by the test");
        };
        TestNode node = node("local");
        try {
            try (Granary granary = Granary.builder()
                    .config(config("local").bucketWait(SHORT).flushLimit(SHORT).build())
                    .layer("near", near)
                    .open()) {
                assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
                assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, B).source());
                Await.holds(() -> node.sessionFiles(UploadOutbox.DIRECTORY).size() >= 2);
            }
            assertEquals(2, node.sessionFiles(UploadOutbox.DIRECTORY).size());
        } finally {
            released.countDown();
        }
        try (Granary granary = Granary.builder()
                .config(config("local").build())
                .layer("renamed", far)
                .open()) {
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(0, granary.statistics().count(Counter.UPLOADS_INHERITED));
        }
        // another object: calls of the first process may still reach the old one
        ScriptedCache recovered = new ScriptedCache();
        try (Granary granary = Granary.builder()
                .config(config("local").build())
                .layer("near", recovered)
                .open()) {
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(2, granary.statistics().count(Counter.UPLOADS_INHERITED));
        }
        assertEquals(List.of(2, 0), List.of(recovered.content.size(), far.content.size()));
        assertEquals(0, near.closes.get());
    }

    @Test
    @DisplayName("an entry of a plugged layer whose restore ended a process is in quarantine")
    void quarantine() throws Exception {
        Entry deadly = entry(A, "deadly");
        near.content.store(deadly);
        GranaryConfig config = config("local").build();
        Path quarantine = config.directory().resolve("quarantine");
        Files.createDirectories(quarantine);
        Files.createFile(quarantine.resolve(
                A.getId().hash().hex() + "-" + deadly.contentHash().hex()));
        try (Granary granary = Granary.builder()
                .config(config)
                .local(new ScriptedCache())
                .layer("near", near)
                .open()) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
            assertEquals(1, granary.statistics().count(Counter.RESTORES_QUARANTINED));
        }
        assertEquals(0, engine.restores.get());
    }

    @Test
    @DisplayName("a plugged local cache replaces the local tier, and other layers fill it")
    void local() throws Exception {
        near.content.store(entry(B, "near"));
        GranaryConfig config = config("local").build();
        for (PrimitiveSource expected : List.of(PrimitiveSource.COMPILED, PrimitiveSource.LOCAL)) {
            try (PersistentCache files = new DirectoryCache(home.resolve("files"));
                    Granary granary = Granary.builder()
                            .config(config)
                            .local(files)
                            .readOnlyLayer("near", near)
                            .open()) {
                assertEquals(expected, granary.lookup(engine, A).source());
                assertEquals(
                        expected == PrimitiveSource.LOCAL
                                ? PrimitiveSource.LOCAL
                                : PrimitiveSource.BUCKET,
                        granary.lookup(engine, B).source());
                assertTrue(granary.flush(TestNode.LONG));
                boolean isFirst = expected == PrimitiveSource.COMPILED;
                assertEquals(
                        List.of(isFirst ? 2L : 0L, isFirst ? 2L : 0L, isFirst ? 0L : 2L),
                        List.of(
                                granary.statistics().count(Counter.LOCAL_LOOKUPS)
                                        - granary.statistics().count(Counter.LOCAL_HITS),
                                granary.statistics().count(Counter.LOCAL_STORED),
                                granary.statistics().count(Counter.LOCAL_HITS)));
            }
        }
        assertEquals(2, new Totals(config.directory()).read().get("local-hits"));
        assertEquals(1, engine.compiles.get());
    }

    @Test
    @DisplayName("uploads from a plugged local cache are left to a process with one, and not to"
            + " others of the directory")
    void outboxOfPluggedLocal() throws Exception {
        CountDownLatch released = new CountDownLatch(1);
        near.onStore = _ -> {
            ScriptedCache.hang(released);
            return new StoreResult.Failed("released by the test");
        };
        DirectoryCache files = new DirectoryCache(home.resolve("files"));
        try (Granary granary = Granary.builder()
                .config(config("local").flushLimit(SHORT).build())
                .local(files)
                .layer("near", near)
                .open()) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
            Await.holds(() -> near.stores.get() == 1);
        } finally {
            released.countDown();
        }
        near.onStore = near.content::store;
        try (Granary granary = Granary.builder()
                .config(config("local").build())
                .layer("near", near)
                .open()) {
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(
                    List.of(0L, 0L),
                    List.of(
                            granary.statistics().count(Counter.UPLOADS_INHERITED),
                            granary.statistics().count(Counter.STORES_DROPPED)));
        }
        try (Granary granary = Granary.builder()
                .config(config("local").build())
                .local(files)
                .layer("near", near)
                .open()) {
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, granary.statistics().count(Counter.UPLOADS_INHERITED));
        }
        assertEquals(1, near.content.size());
    }

    @Test
    @DisplayName("processes that share a plugged local cache wait for each other's entries")
    void claims() throws Exception {
        GranaryConfig config = config("local").build();
        CountDownLatch compiling = new CountDownLatch(1);
        CountDownLatch released = new CountDownLatch(1);
        engine.beforeCompile = () -> {
            compiling.countDown();
            ScriptedCache.hang(released);
        };
        try (Granary one = Granary.builder().config(config).local(near).open();
                Granary other = Granary.builder().config(config).local(near).open();
                ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
            try {
                Future<PrimitiveSource> first =
                        callers.submit(() -> one.lookup(engine, A).source());
                compiling.await();
                int loads = near.loads.get();
                Future<PrimitiveSource> second = callers.submit(
                        () -> other.lookup(new FakeEngine("two"), A).source());
                Await.holds(() -> near.loads.get() > loads + 1); // it repeats the lookup
                released.countDown();
                assertEquals(
                        List.of(PrimitiveSource.COMPILED, PrimitiveSource.LOCAL),
                        List.of(first.get(), second.get()));
                assertEquals(1, other.statistics().count(Counter.CLAIM_HITS));
            } finally {
                released.countDown(); // else the callers would not end
            }
        }
    }

    @Test
    @DisplayName("with the capacity 0 and a plugged local cache the directory is not touched")
    void withoutDirectory() throws Exception {
        GranaryConfig config = config("local").capacity("0").build();
        for (PrimitiveSource expected : List.of(PrimitiveSource.COMPILED, PrimitiveSource.LOCAL)) {
            try (Granary granary = Granary.builder()
                    .config(config)
                    .local(near)
                    .layer("far", far)
                    .open()) {
                assertEquals(expected, granary.lookup(engine, A).source());
            }
        }
        assertEquals(List.of(1, 1), List.of(near.content.size(), far.content.size()));
        assertFalse(Files.exists(config.directory()));
    }

    @Test
    @DisplayName("an application that closes its cache too early gets misses, no exceptions")
    void closedTooEarly() throws Exception {
        try (Granary granary = Granary.builder()
                .config(config("local").build())
                .local(far)
                .layer("near", near)
                .open()) {
            near.close();
            far.close();
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
            granary.connect();
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, granary.statistics().count(Counter.LOCAL_LOOKUPS));
            assertEquals(0, granary.statistics().count(Counter.LOCAL_HITS));
            assertEquals(
                    1, granary.statistics().layers().getFirst().count(Counter.LAYER_UNAVAILABLE));
        }
    }

    @Test
    @DisplayName("names that would be ambiguous, and second settings, are refused")
    void refused() throws Exception {
        GranaryBuilder builder = Granary.builder().layer("near", near);
        for (String wrong : List.of("", " ", "near", "s3://b", "two\nlines", "x".repeat(201))) {
            assertThrows(IllegalArgumentException.class, () -> builder.layer(wrong, far), wrong);
            assertThrows(
                    IllegalArgumentException.class, () -> builder.readOnlyLayer(wrong, far), wrong);
        }
        GranaryConfig config = config("local").build();
        builder.config(config).local(near);
        assertThrows(IllegalStateException.class, () -> builder.config(config));
        assertThrows(IllegalStateException.class, () -> builder.local(far));
    }
}
