package dev.granary.coordinator;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.EvictionPolicy;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.local.EntryFiles;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;
import dev.granary.testing.Await;
import dev.granary.testing.InteractiveProcess;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The features of the persistent-cache RFC, option 1, each with the sentence that requires it;
 * {@code docs/seeds.md} has the complete list.
 */
class PersistentCacheSeedTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");
    private static final FakeDescriptor B = FakeDescriptor.of("b");

    private final Path home;
    private final FakeEngine engine = new FakeEngine("x".repeat(300_000));

    PersistentCacheSeedTest(@TempDir Path home) {
        this.home = home;
    }

    private GranaryConfigBuilder with(Map<String, String> environment) throws ConfigException {
        return new TestNode(home.resolve("local"), new FakeBucket())
                .config()
                .environment(environment(environment));
    }

    private Map<String, String> environment(Map<String, String> more) {
        Map<String, String> merged = new HashMap<>(Map.of("HOME", home.toString()));
        merged.putAll(more);
        return merged;
    }

    private PrimitiveSource get(GranaryConfig config, FakeDescriptor descriptor) throws Exception {
        try (Granary granary = Granary.open(config)) {
            return granary.lookup(
                            descriptor.target().equals(engine.target())
                                    ? engine
                                    : new FakeEngine("other", descriptor.target()),
                            descriptor)
                    .source();
        }
    }

    private static List<EntryCatalog.Listed> entries(GranaryConfig config) throws Exception {
        return FakeCatalog.entries(EntryFiles.in(config.directory()));
    }

    private static long bytes(GranaryConfig config) throws Exception {
        return entries(config).stream().mapToLong(EntryCatalog.Listed::bytes).sum();
    }

    @Test
    @DisplayName("RFC: \"API to specify directory\", by call and by environment")
    void directory() throws Exception {
        GranaryConfig byCall = GranaryConfig.builder()
                .environment(environment(Map.of()))
                .directory(home.resolve("call"))
                .build();
        GranaryConfig byEnvironment = GranaryConfig.builder()
                .environment(environment(
                        Map.of("GRANARY_DIR", home.resolve("environment").toString())))
                .build();
        assertEquals(PrimitiveSource.COMPILED, get(byCall, A));
        assertFalse(Files.exists(home.resolve("environment")));
        assertEquals(
                PrimitiveSource.COMPILED,
                get(byEnvironment, A),
                "another directory holds nothing of the first");
        assertEquals(PrimitiveSource.LOCAL, get(byCall, A));
        assertEquals(PrimitiveSource.LOCAL, get(byEnvironment, A));
        assertEquals(
                List.of(1, 1),
                List.of(entries(byCall).size(), entries(byEnvironment).size()));
        assertFalse(Files.exists(home.resolve(".cache")), "nothing is at the default place");
    }

    @Test
    @DisplayName("RFC: \"specifying persistent cache capacity in megabytes\", by call and by"
            + " environment; it is never exceeded at the end")
    void capacity() throws Exception {
        GranaryConfig byCall = with(Map.of()).capacity("1").build();
        GranaryConfig byEnvironment = with(Map.of("GRANARY_CAPACITY", "2"))
                .directory(home.resolve("other"))
                .build();
        for (GranaryConfig config : List.of(byCall, byEnvironment)) {
            try (Granary granary = Granary.open(config)) {
                for (int i = 0; i < 12; i++) {
                    granary.primitive(engine, FakeDescriptor.of("kernel " + i));
                }
            }
            long limit = config == byCall ? 1L << 20 : 2L << 20;
            assertEquals(limit, config.capacityBytes());
            assertTrue(bytes(config) <= limit, () -> "more than " + limit + " bytes");
            assertTrue(bytes(config) > limit / 2, "and the capacity is used");
        }
    }

    @Test
    @DisplayName(
            "RFC: \"capacity 0 - persistent cache is disabled\": memory works, no disk is touched,"
                    + " and what is there stays for others")
    void capacityZero() throws Exception {
        GranaryConfig byCall = with(Map.of()).capacity("0").build();
        GranaryConfig byEnvironment = with(Map.of("GRANARY_CAPACITY", "0")).build();
        for (GranaryConfig off : List.of(byCall, byEnvironment)) {
            try (Granary granary = Granary.open(off)) {
                assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
                assertEquals(PrimitiveSource.MEMORY, granary.lookup(engine, A).source());
                granary.setPrimitiveCacheCapacity(0);
                assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
                assertTrue(granary.flush(TestNode.LONG));
                assertEquals(0, granary.statistics().count(Counter.LOCAL_STORED));
            }
            assertFalse(Files.exists(off.directory()), "not even its directory");
        }
        GranaryConfig on = with(Map.of()).build();
        assertEquals(PrimitiveSource.COMPILED, get(on, A));
        assertEquals(PrimitiveSource.COMPILED, get(byCall, A), "it is not read");
        assertEquals(1, entries(byCall).size(), "nor does a read-only tool evict");
        assertEquals(PrimitiveSource.LOCAL, get(on, A), "it was not evicted");
    }

    @Test
    @DisplayName(
            "Capacity 0 with a bucket: what is compiled is shared, and found by the next process,"
                    + " without a disk")
    void capacityZeroWithBucket() throws Exception {
        FakeBucket bucket = new FakeBucket();
        TestNode node = new TestNode(home.resolve("local"), bucket);
        GranaryConfig off = node.config()
                .bucket("s3://test")
                .capacity("0")
                .flushLimit(TestNode.LONG)
                .build();
        try (Granary granary = node.open(off)) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
        }
        assertThat(node.published.get(A.getId())).isStored();
        try (Granary next = node.open(off)) {
            assertEquals(PrimitiveSource.BUCKET, next.lookup(engine, A).source());
            assertTrue(next.flush(TestNode.LONG));
        }
        assertFalse(Files.exists(node.directory));
    }

    @ParameterizedTest
    @EnumSource(EvictionPolicy.class)
    @DisplayName("RFC: \"FIFO eviction policy ... The oldest one will be removed\", by call and by"
            + " environment; else the least recently used")
    void eviction(EvictionPolicy policy) throws Exception {
        GranaryConfigBuilder builder =
                switch (policy) {
                    case FIFO -> with(Map.of("GRANARY_EVICTION", "fifo"));
                    case LRU ->
                        with(Map.of("GRANARY_EVICTION", "fifo")).eviction(EvictionPolicy.LRU);
                };
        GranaryConfig config = builder.capacity("1").build();
        assertEquals(policy, config.eviction());
        TestNode node = new TestNode(home.resolve("local"), new FakeBucket());
        // Three fit. The first is used again; then a fourth is stored.
        for (FakeDescriptor next :
                List.of(A, B, FakeDescriptor.of("c"), A, FakeDescriptor.of("d"))) {
            node.now = node.now.plusSeconds(3600);
            try (Granary granary = node.open(config)) {
                granary.primitive(engine, next);
            }
        }
        Set<Object> remaining = entries(config).stream()
                .map(EntryCatalog.Listed::hash)
                .collect(Collectors.toCollection(HashSet::new));
        assertEquals(policy == EvictionPolicy.LRU, remaining.contains(A.getId().hash()));
        assertEquals(policy == EvictionPolicy.FIFO, remaining.contains(B.getId().hash()));
        assertTrue(remaining.contains(FakeDescriptor.of("d").getId().hash()));
    }

    @Test
    @DisplayName("RFC: \"key.bin - the binary representation of the key to handle collisions\": the"
            + " whole key lies with the binary (see D9, D6)")
    void keyIsKept() throws Exception {
        GranaryConfig config = with(Map.of()).build();
        get(config, A);
        Entry entry = assertThat(
                        EntryFiles.in(config.directory()).read(entries(config).getFirst()))
                .isHit();
        assertEquals(A.getId(), entry.id());
        assertEquals(FakeEngine.binaries(A, "x".repeat(300_000)), entry.binaries());
    }

    @Test
    @DisplayName(
            "RFC: \"a directory to distinguish between SYCL backends\": equal but for the backend"
                    + " is not found, and is listed and dropped apart")
    void backends() throws Exception {
        Target target = TestEntries.TARGET;
        Target levelZero =
                new Target(Backend.LEVEL_ZERO, target.vendor(), target.device(), target.driver());
        FakeDescriptor other = new FakeDescriptor(
                "a", levelZero, Id.builder(levelZero).field("test", "a").build());
        GranaryConfig config = with(Map.of()).build();
        assertEquals(PrimitiveSource.COMPILED, get(config, A));
        assertEquals(
                PrimitiveSource.COMPILED,
                get(config, other),
                "the OpenCL entry is none for Level Zero");
        assertEquals(PrimitiveSource.LOCAL, get(config, A));
        assertEquals(PrimitiveSource.LOCAL, get(config, other));
        assertEquals(
                List.of(1L, 1L),
                List.of(count(config, Backend.OPENCL), count(config, Backend.LEVEL_ZERO)));
        try (LocalTier tier =
                LocalTier.open(LocalTierConfig.builder(config.directory()).build())) {
            List<EntryCatalog.Listed> listed = new ArrayList<>();
            tier.list(listed::add);
            for (EntryCatalog.Listed entry : listed) {
                if (isOf(entry, Backend.LEVEL_ZERO)
                        && tier.read(entry) instanceof LoadResult.Hit hit) {
                    tier.discard(hit.entry());
                }
            }
        }
        assertEquals(
                List.of(1L, 0L),
                List.of(count(config, Backend.OPENCL), count(config, Backend.LEVEL_ZERO)));
    }

    private static long count(GranaryConfig config, Backend backend) throws Exception {
        return entries(config).stream().filter(entry -> isOf(entry, backend)).count();
    }

    private static boolean isOf(EntryCatalog.Listed entry, Backend backend) {
        return entry.namespace().startsWith(backend.path() + "/");
    }

    @Test
    @DisplayName(
            "RFC: \"If found, the primitive is created using the binary representation otherwise"
                    + " ... from scratch\", and stored every time")
    void loadAndStore() throws Exception {
        GranaryConfig config = with(Map.of()).build();
        for (FakeDescriptor descriptor : List.of(A, B, A, B)) {
            try (Granary granary = Granary.open(config)) {
                FakePrimitive primitive = granary.primitive(engine, descriptor);
                assertEquals(
                        FakeEngine.binaries(descriptor, "x".repeat(300_000)),
                        primitive.getBinaries(BinaryKind.KERNEL));
            }
        }
        assertEquals(List.of(2, 2), List.of(engine.compiles.get(), engine.restores.get()));
    }

    @Test
    @DisplayName("RFC: store option 1, not 2: an entry is there while the cache that compiled it is"
            + " open, and used by another one")
    void storedBeforeDestruction() throws Exception {
        GranaryConfig config = with(Map.of()).build();
        try (Granary compiling = Granary.open(config);
                Granary other = Granary.open(config)) {
            compiling.primitive(engine, A);
            Await.holds(() -> compiling.statistics().count(Counter.LOCAL_STORED) == 1);
            assertEquals(PrimitiveSource.LOCAL, other.lookup(engine, A).source());
        }
        assertEquals(1, engine.compiles.get());
    }

    @Test
    @DisplayName("RFC: \"performed in a process and thread safe manner\": two processes of four"
            + " threads; nothing is lost, mixed or left behind")
    void processesAndThreads() throws Exception {
        TestNode node = new TestNode(home.resolve("local"), new FakeBucket());
        List<InteractiveProcess> children = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            children.add(ChildProcess.start(ChildProcess.GETS_SHARED, node.directory));
        }
        for (InteractiveProcess child : children) {
            assertEquals("true", child.answer());
            assertEquals(0, child.finish());
        }
        FakeEngine shared = new FakeEngine("shared");
        try (Granary granary = node.openWithoutBucket()) {
            for (FakeDescriptor descriptor : ChildProcess.SHARED) {
                LookupResult<FakePrimitive> result = granary.lookup(shared, descriptor);
                assertEquals(PrimitiveSource.LOCAL, result.source());
                assertEquals(
                        FakeEngine.binaries(descriptor, "shared"),
                        result.primitive().getBinaries(BinaryKind.KERNEL));
            }
        }
        assertEquals(ChildProcess.SHARED.size(), entries(node.config().build()).size());
        assertEquals(List.of(), sessions(node));
    }

    private static List<Path> sessions(TestNode node) throws IOException {
        try (var stream = Files.list(node.directory.resolve("sessions"))) {
            return stream.toList();
        }
    }
}
