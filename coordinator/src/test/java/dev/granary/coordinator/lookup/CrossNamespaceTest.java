package dev.granary.coordinator.lookup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.FakeEngine.BinariesTime;
import dev.granary.coordinator.FakeEngine.RestoreBehavior;
import dev.granary.coordinator.FakePrimitive;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Lookups in the namespaces of two backends, on a real server and real directories. */
class CrossNamespaceTest {
    private static final Target OPENCL = TestEntries.TARGET;
    private static final Target LEVEL_ZERO =
            new Target(Backend.LEVEL_ZERO, "test-vendor", "Test Device 9000", "1.2.3");
    private static final FakeDescriptor A = FakeDescriptor.of("a");
    private static final FakeDescriptor A_OF_LEVEL_ZERO = A.withTarget(LEVEL_ZERO);

    private final Path directory;
    private final TestFleet fleet;
    private final FakeEngine openCl = new FakeEngine("opencl", OPENCL);
    private final FakeEngine levelZero = new FakeEngine("level zero", LEVEL_ZERO);

    CrossNamespaceTest(@TempDir Path directory) throws Exception {
        this.directory = directory;
        this.fleet = new TestFleet(directory);
        levelZero.readable = List.of(OPENCL);
        openCl.readable = List.of(LEVEL_ZERO); // an engine may say so: the table does not permit it
    }

    @AfterEach
    void stop() {
        fleet.close();
    }

    private static Entry entry(FakeDescriptor descriptor, String producer) {
        return TestEntries.entry(descriptor.getId(), FakeEngine.binaries(descriptor, producer));
    }

    private static String content(LookupResult<FakePrimitive> result) {
        return new String(
                result.primitive().getBinaries(BinaryKind.KERNEL).toByteArrays().getFirst(), UTF_8);
    }

    private Granary open(String machine) throws Exception {
        return fleet.open(machine);
    }

    private Granary openLocal(String machine) throws Exception {
        return Granary.open(new TestNode(directory.resolve(machine), new FakeBucket())
                .config()
                .build());
    }

    /** Looks up in a new process of a machine, and returns source and namespace of the entry. */
    private String source(Granary opened, FakeEngine engine, FakeDescriptor descriptor)
            throws Exception {
        try (opened) {
            LookupResult<FakePrimitive> result = opened.lookup(engine, descriptor);
            assertEquals(
                    result.from().isPresent() ? 1 : 0,
                    opened.statistics().count(Counter.CROSS_NAMESPACE));
            return result.source()
                    + result.from()
                            .map(target -> " from " + target.backend().path())
                            .orElse("");
        }
    }

    @Test
    @DisplayName("Level Zero reads OpenCL's entry in the local tier, and stores its own")
    void local() throws Exception {
        assertEquals("COMPILED", source(openLocal("m"), openCl, A));
        assertEquals("LOCAL from opencl", source(openLocal("m"), levelZero, A_OF_LEVEL_ZERO));
        levelZero.readable = List.of();
        assertEquals("LOCAL", source(openLocal("m"), levelZero, A_OF_LEVEL_ZERO));
        assertEquals("LOCAL", source(openLocal("m"), openCl, A));
        assertEquals(0, levelZero.compiles.get());
        assertEquals(1, openCl.compiles.get());
    }

    @Test
    @DisplayName("OpenCL never reads Level Zero's entry, whatever its engine says")
    void never() throws Exception {
        assertEquals("COMPILED", source(open("m"), levelZero, A_OF_LEVEL_ZERO));
        fleet.requests();
        assertEquals("COMPILED", source(open("m"), openCl, A));
        assertFalse(
                fleet.requests().stream().anyMatch(request -> request.endsWith("another target")),
                "nothing is requested there");
        FakeEngine newer = new FakeEngine(
                "newer", new Target(Backend.OPENCL, "test-vendor", "Test Device 9000", "1.2.4"));
        assertEquals("COMPILED", source(open("other"), newer, A.withTarget(newer.target())));
        assertEquals(1, openCl.compiles.get());
        assertEquals(0, openCl.restores.get());
    }

    @Test
    @DisplayName("Level Zero reads OpenCL's unpacked entry in a bucket, and publishes its own")
    void unpacked() throws Exception {
        fleet.publishUnpacked(List.of(entry(A, "ci")));
        assertEquals("BUCKET from opencl", source(open("node"), levelZero, A_OF_LEVEL_ZERO));
        assertEquals("LOCAL", source(open("node"), levelZero, A_OF_LEVEL_ZERO));
        levelZero.readable = List.of();
        assertEquals("BUCKET", source(open("other"), levelZero, A_OF_LEVEL_ZERO));
        assertEquals(
                1,
                fleet.keys("/level-zero/").stream()
                        .filter(k -> k.contains("/e/"))
                        .count());
        assertEquals(0, levelZero.compiles.get());
    }

    @Test
    @DisplayName("What the driver makes of an entry of a later layer does not get into an earlier"
            + " one, at once or by way of the directory")
    void laterLayer() throws Exception {
        FakeBucket trusted = new FakeBucket();
        FakeBucket scratch = new FakeBucket();
        scratch.store(entry(A, "a pull request"));
        openCl.restoreBehavior = RestoreBehavior.RECOMPILES;
        assertEquals("BUCKET", source(open("m", trusted, scratch), openCl, A));
        assertEquals(
                "LOCAL from opencl",
                source(open("m", trusted, scratch), levelZero, A_OF_LEVEL_ZERO));
        assertEquals(
                "BUCKET from opencl",
                source(open("other", trusted, scratch), levelZero, A_OF_LEVEL_ZERO));
        assertEquals(Map.of(), trusted.entries);
        levelZero.readable = List.of();
        assertEquals("LOCAL", source(open("other", trusted, scratch), levelZero, A_OF_LEVEL_ZERO));
    }

    private Granary open(String machine, FakeBucket trusted, FakeBucket scratch) throws Exception {
        GranaryConfig config = new TestNode(directory.resolve(machine), trusted)
                .config()
                .bucket("s3://trusted,s3://scratch?access=read")
                .flushLimit(TestNode.LONG)
                .build();
        return TestNode.over(config, trusted, scratch);
    }

    @Test
    @DisplayName("Level Zero reads OpenCL's entry in a pack")
    void packed() throws Exception {
        fleet.publish(List.of(entry(A, "ci")));
        assertEquals("BUCKET from opencl", source(open("node"), levelZero, A_OF_LEVEL_ZERO));
        assertEquals(0, levelZero.compiles.get());
    }

    @Test
    @DisplayName("Level Zero reads OpenCL's entry after the directory was warmed for OpenCL")
    void warmed() throws Exception {
        fleet.publish(List.of(entry(A, "ci")));
        GranaryConfig config = fleet.config("node").build();
        TestFleet.install(config, OPENCL.path());
        fleet.requests();
        assertEquals("LOCAL from opencl", source(openLocal("node"), levelZero, A_OF_LEVEL_ZERO));
        assertEquals(List.of(), fleet.requests());
        assertEquals(0, levelZero.compiles.get());
    }

    @Test
    @DisplayName("each tier is searched in the own namespace first, and in both before the next"
            + " tier")
    void order() throws Exception {
        fleet.publishUnpacked(List.of(entry(A, "ci"), entry(A_OF_LEVEL_ZERO, "own of ci")));
        try (Granary node = open("node")) {
            LookupResult<FakePrimitive> result = node.lookup(levelZero, A_OF_LEVEL_ZERO);
            assertEquals("a by own of ci", content(result));
            assertEquals(Optional.empty(), result.from());
        }
        assertEquals("COMPILED", source(openLocal("other"), openCl, A));
        fleet.requests();
        try (Granary other = open("other")) {
            LookupResult<FakePrimitive> result = other.lookup(levelZero, A_OF_LEVEL_ZERO);
            assertEquals(PrimitiveSource.LOCAL, result.source());
            assertEquals(Optional.of(OPENCL), result.from());
            assertEquals(0, other.statistics().layers().getFirst().count(Counter.LAYER_HITS));
            assertEquals("a by level zero", content(result), "the driver's own format");
        }
    }

    @Test
    @DisplayName("a lookup in two namespaces is one lookup of a tier, and one of a bucket")
    void counters() throws Exception {
        try (Granary node = open("node")) {
            node.primitive(levelZero, A_OF_LEVEL_ZERO);
            GranaryStatistics statistics = node.statistics();
            assertEquals(
                    1,
                    statistics.count(Counter.LOCAL_LOOKUPS) - statistics.count(Counter.LOCAL_HITS));
            assertEquals(
                    1,
                    statistics.layers().getFirst().count(Counter.LAYER_LOOKUPS)
                            - statistics.layers().getFirst().count(Counter.LAYER_HITS));
            assertEquals(0, statistics.count(Counter.CROSS_NAMESPACE));
        }
        fleet.publishUnpacked(List.of(entry(FakeDescriptor.of("b"), "ci")));
        try (Granary node = open("other")) {
            node.primitive(levelZero, FakeDescriptor.of("b").withTarget(LEVEL_ZERO));
            GranaryStatistics statistics = node.statistics();
            assertEquals(
                    0,
                    statistics.layers().getFirst().count(Counter.LAYER_LOOKUPS)
                            - statistics.layers().getFirst().count(Counter.LAYER_HITS));
            assertEquals(1, statistics.layers().getFirst().count(Counter.LAYER_HITS));
            assertEquals(1, statistics.counters().get("cross-namespace"));
        }
    }

    @Test
    @DisplayName("a miss costs requests in another namespace only if the engine reads it")
    void requests() throws Exception {
        levelZero.readable = List.of();
        List<String> alone = requestsOfMiss("alone");
        levelZero.readable = List.of(OPENCL);
        List<String> both = requestsOfMiss("both");
        fleet.publish(List.of(entry(FakeDescriptor.of("other"), "ci")));
        List<String> packed = requestsOfMiss("packed");
        System.out.println("requests of a first miss: own namespace " + alone + ", two namespaces "
                + both + ", with a pack in the other " + packed);
        assertEquals(0, otherTarget(alone).size() - alone.size(), alone::toString);
        assertEquals(2 * alone.size(), both.size(), both::toString);
    }

    /** Requests that are not of OpenCL's namespace, which the fleet counts as its own. */
    private static List<String> otherTarget(List<String> requests) {
        return requests.stream().filter(r -> r.endsWith("of another target")).toList();
    }

    private List<String> requestsOfMiss(String machine) throws Exception {
        FakeDescriptor absent = FakeDescriptor.of(machine).withTarget(LEVEL_ZERO);
        try (Granary node = Granary.open(
                fleet.config(machine, "s3://kernels/ci?access=read").build())) {
            fleet.requests();
            assertEquals(
                    PrimitiveSource.COMPILED, node.lookup(levelZero, absent).source());
            List<String> first = fleet.requests();
            FakeDescriptor another = FakeDescriptor.of(machine + " 2").withTarget(LEVEL_ZERO);
            assertEquals(
                    PrimitiveSource.COMPILED, node.lookup(levelZero, another).source());
            assertEquals(1 + levelZero.readable.size(), fleet.requests().size(), "of a later miss");
            return first;
        }
    }

    @Test
    @DisplayName("an entry of OpenCL that Level Zero's driver refuses stays for OpenCL")
    void refused() throws Exception {
        assertEquals("COMPILED", source(open("m"), openCl, A));
        for (RestoreBehavior behavior :
                List.of(RestoreBehavior.REFUSES, RestoreBehavior.LACKS_KERNEL)) {
            levelZero.restoreBehavior = behavior;
            try (Granary granary = open("node " + behavior)) {
                LookupResult<FakePrimitive> result = granary.lookup(levelZero, A_OF_LEVEL_ZERO);
                assertEquals(PrimitiveSource.COMPILED, result.source());
                assertEquals(Optional.empty(), result.from());
                assertEquals(1, granary.statistics().count(Counter.RESTORES_REFUSED));
                assertEquals(0, granary.statistics().count(Counter.CROSS_NAMESPACE));
            }
            fleet.remove("/level-zero/");
        }
        assertEquals("LOCAL", source(open("m"), openCl, A));
        assertEquals("BUCKET", source(open("third"), openCl, A));
    }

    @Test
    @DisplayName("without a native binary nothing is stored in the own namespace, and a bucket"
            + " hit fills the directory")
    void withoutBinary() throws Exception {
        levelZero.binariesTime = BinariesTime.NEVER;
        fleet.publishUnpacked(List.of(entry(A, "ci")));
        assertEquals("BUCKET from opencl", source(open("node"), levelZero, A_OF_LEVEL_ZERO));
        assertEquals(List.of(), fleet.keys("/level-zero/"));
        assertEquals("LOCAL from opencl", source(open("node"), levelZero, A_OF_LEVEL_ZERO));
        assertEquals("LOCAL", source(open("node"), openCl, A));
    }

    @Test
    @DisplayName("a cross-namespace hit that the driver compiled again is counted as both")
    void recompiled() throws Exception {
        assertEquals("COMPILED", source(openLocal("m"), openCl, A));
        levelZero.restoreBehavior = RestoreBehavior.RECOMPILES;
        try (Granary granary = openLocal("m")) {
            granary.primitive(levelZero, A_OF_LEVEL_ZERO);
            assertEquals(1, granary.statistics().count(Counter.RESTORES_RECOMPILED));
            assertEquals(1, granary.statistics().count(Counter.CROSS_NAMESPACE));
        }
        levelZero.restoreBehavior = RestoreBehavior.ACCEPTS;
        assertEquals("LOCAL", source(openLocal("m"), levelZero, A_OF_LEVEL_ZERO));
    }

    @Test
    @DisplayName("a damaged entry of the own namespace is replaced after a cross-namespace hit")
    void damagedOwn() throws Exception {
        Id own = A_OF_LEVEL_ZERO.getId();
        fleet.publishUnpacked(List.of(entry(A, "ci"), entry(A_OF_LEVEL_ZERO, "ci")));
        String key = fleet.keys(own.hash().hex()).getFirst();
        fleet.change(key, bytes -> Arrays.copyOf(bytes, bytes.length - 9));
        assertEquals("BUCKET from opencl", source(open("node"), levelZero, A_OF_LEVEL_ZERO));
        levelZero.readable = List.of();
        assertEquals("BUCKET", source(open("other"), levelZero, A_OF_LEVEL_ZERO));
        assertEquals(0, levelZero.compiles.get());
    }
}
