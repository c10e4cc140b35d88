package dev.granary.coordinator.lookup;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.coordinator.ChildProcess;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.machine.ProcessSession;
import dev.granary.coordinator.machine.RestoreQuarantine;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.SampleBinaries;
import dev.granary.gpu.spirv.IntermediateDescriptor;
import dev.granary.gpu.spirv.SpirvCompiler;
import dev.granary.local.ClaimResult;
import dev.granary.local.LocalClaims;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;
import dev.granary.local.SharedDirectory;
import dev.granary.testing.InteractiveProcess;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import java.util.zip.CRC32;

/**
 * Explanations of lookups in a local directory and a bucket of a real server. Each is compared with
 * the lookup that follows, and must change nothing before it.
 */
class ExplainerTest {
    private static final Target OPENCL = TestEntries.TARGET;
    private static final Target LEVEL_ZERO =
            new Target(Backend.LEVEL_ZERO, "test-vendor", "Test Device 9000", "1.3.3");
    private static final FakeDescriptor A = FakeDescriptor.of("a");
    private static final String COMPILED =
            "load local ABSENT, load bucket ABSENT, compile, lookup COMPILED";
    private static final String LOCAL = "load local HIT, restore local RESTORED, lookup LOCAL";
    private static final String BUCKET =
            "load local ABSENT, load bucket HIT, restore bucket RESTORED, lookup BUCKET";

    private final TestFleet fleet;
    private final Path directory;

    ExplainerTest(@TempDir Path directory) throws Exception {
        this.fleet = new TestFleet(directory);
        this.directory = directory.resolve("node");
    }

    @AfterEach
    void stop() {
        fleet.close();
    }

    private GranaryConfig config() throws Exception {
        return fleet.config("node").build();
    }

    private static Entry entry(FakeDescriptor descriptor, String producer) {
        return TestEntries.entry(descriptor.getId(), FakeEngine.binaries(descriptor, producer));
    }

    private void storeLocally(Entry... entries) throws Exception {
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(directory).build())) {
            List.of(entries).forEach(tier::store);
        }
    }

    /** Explains twice, and checks that nothing has changed on disk and nothing was written. */
    private Explainer.Explanation explain(
            GranaryConfig config, FakeDescriptor descriptor, List<Target> readable, Instant now)
            throws Exception {
        SortedMap<String, String> before = files();
        fleet.requests();
        Explainer.Request request = new Explainer.Request(
                descriptor.getId(),
                descriptor.target(),
                readable,
                Optional.empty(),
                Optional.empty());
        Explainer.Explanation first = explain(config, request, now);
        assertEquals(steps(first.events()), steps(explain(config, request, now).events()));
        assertEquals(before, files());
        for (String sent : fleet.requests()) {
            assertTrue(sent.matches("(GET|HEAD|LIST) .*"), sent);
        }
        return first;
    }

    private static Explainer.Explanation explain(
            GranaryConfig config, Explainer.Request request, Instant now) throws Exception {
        return Explainer.explain(config, SpirvCompiler.onPath(), InstantSource.fixed(now), request);
    }

    private static Optional<Duration> waitLimit(Explainer.Explanation explanation) {
        return explanation.events().stream()
                .filter(GranaryEvent.Wait.class::isInstance)
                .map(GranaryEvent::duration)
                .findFirst();
    }

    private Explainer.Explanation explain(FakeDescriptor descriptor) throws Exception {
        return explain(config(), descriptor, List.of(), Instant.now());
    }

    /** Returns kind, tier and outcome of each event of a lookup, such as {@code load local HIT}. */
    private static List<String> steps(List<GranaryEvent> events) {
        return events.stream()
                .map(event -> switch (event) {
                    case GranaryEvent.Load load ->
                        "load " + tier(load.tier()) + " " + load.outcome();
                    case GranaryEvent.Restore restore ->
                        "restore " + tier(restore.tier()) + " " + restore.outcome();
                    case GranaryEvent.Wait wait -> "wait " + wait.outcome();
                    case GranaryEvent.Compile compile ->
                        "compile" + compile.failure().map(_ -> " failed").orElse("");
                    case GranaryEvent.Lookup lookup ->
                        "lookup " + lookup.source().map(Object::toString).orElse("failed");
                    case GranaryEvent.Store _, GranaryEvent.Upload _, GranaryEvent.Eviction _ ->
                        ""; // after the lookup
                })
                .filter(step -> !step.isEmpty())
                .toList();
    }

    private static String tier(String name) {
        return name.equals("local") ? name : "bucket";
    }

    /** Returns each file with the checksum of its content, and its time. */
    private SortedMap<String, String> files() throws IOException {
        SortedMap<String, String> files = new TreeMap<>();
        if (Files.exists(directory)) {
            try (Stream<Path> all = Files.walk(directory)) {
                for (Path file : all.toList()) {
                    files.put(
                            directory.relativize(file).toString(),
                            Files.isRegularFile(file)
                                    ? Files.getLastModifiedTime(file) + " " + checksum(file)
                                    : "");
                }
            }
        }
        return files;
    }

    private static long checksum(Path file) throws IOException {
        CRC32 checksum = new CRC32();
        checksum.update(Files.readAllBytes(file));
        return checksum.getValue();
    }

    /** Explains a lookup, then makes it in a new process of the machine: the steps are the same. */
    private String explainedAndReal(
            GranaryConfig config, FakeEngine engine, FakeDescriptor descriptor) throws Exception {
        List<String> explained = steps(
                explain(config, descriptor, engine.readable, Instant.now()).events());
        List<String> real = lookUp(config, engine, descriptor);
        assertEquals(real, explained);
        return String.join(", ", explained);
    }

    private String explainedAndReal(FakeDescriptor descriptor) throws Exception {
        return explainedAndReal(config(), fleet.engine, descriptor);
    }

    private static List<String> lookUp(
            GranaryConfig config, FakeEngine engine, FakeDescriptor descriptor) throws Exception {
        List<GranaryEvent> events = new CopyOnWriteArrayList<>();
        try (Granary granary =
                Granary.builder().config(config).listener(events::add).open()) {
            granary.connect(); // loads the client, so that the lookup does not time out
            granary.primitive(engine, descriptor);
        }
        return steps(events);
    }

    @Test
    @DisplayName("a miss, a local hit and a bucket hit are explained as the lookup finds them")
    void sameAsLookup() throws Exception {
        FakeDescriptor packed = FakeDescriptor.of("packed");
        FakeDescriptor unpacked = FakeDescriptor.of("unpacked");
        // before the first lookup: later ones may use the manifest on their disk for a while
        fleet.publish(List.of(entry(packed, "ci")));
        fleet.publishUnpacked(List.of(entry(unpacked, "ci")));
        assertEquals(COMPILED, explainedAndReal(A), "no directory, which stays absent");
        assertEquals(LOCAL, explainedAndReal(A));
        assertEquals(BUCKET, explainedAndReal(packed));
        assertEquals(BUCKET, explainedAndReal(unpacked));
        assertEquals(LOCAL, explainedAndReal(unpacked));
    }

    @Test
    @DisplayName("a damaged local entry is a miss that stays until a lookup replaces it")
    void damaged() throws Exception {
        storeLocally(entry(A, "one"));
        StoredEntry stored = StoredEntry.in(directory).getFirst();
        byte[] flipped = stored.bytes();
        flipped[flipped.length - 1] ^= 1;
        stored.overwrite(flipped);
        assertEquals(
                "load local DAMAGED, load bucket ABSENT, compile, lookup COMPILED",
                explainedAndReal(A));
        assertEquals(LOCAL, explainedAndReal(A));
    }

    @Test
    @DisplayName("an entry that the driver refuses is explained up to the driver")
    void refused() throws Exception {
        storeLocally(entry(A, "one"));
        FakeEngine engine = new FakeEngine("two");
        engine.restoreBehavior = FakeEngine.RestoreBehavior.REFUSES;
        assertEquals(LOCAL, String.join(", ", steps(explain(A).events())));
        assertEquals(
                "load local HIT, restore local REFUSED, load bucket ABSENT, compile,"
                        + " lookup COMPILED",
                String.join(", ", lookUp(config(), engine, A)));
    }

    @Test
    @DisplayName("an entry on which a process died is explained as quarantined, at once and"
            + " while the quarantine lasts")
    void quarantine() throws Exception {
        storeLocally(entry(A, "one"));
        InteractiveProcess child = ChildProcess.start(ChildProcess.DIES_IN_RESTORE, directory);
        assertEquals(FakeEngine.DEATH, child.finish());
        String fresh = explain(A).quarantine().orElseThrow();
        assertTrue(fresh.contains("has just ended"), fresh);
        try (ProcessSession session = ProcessSession.begin(directory);
                RestoreQuarantine quarantine =
                        new RestoreQuarantine(directory, session, InstantSource.system())) {
            quarantine.inheritDead();
            assertEquals(1, quarantine.all().size());
        }
        String listed = explain(A).quarantine().orElseThrow();
        assertTrue(listed.contains("in quarantine until"), listed);
        assertEquals(
                LOCAL,
                String.join(
                        ", ",
                        steps(explain(
                                        config(),
                                        A,
                                        List.of(),
                                        Instant.now().plus(Duration.ofHours(25)))
                                .events())));
        fleet.publishUnpacked(List.of(entry(A, "one")));
        assertEquals(
                "load local HIT, restore local QUARANTINED, load bucket HIT,"
                        + " restore bucket QUARANTINED, compile, lookup COMPILED",
                explainedAndReal(config(), new FakeEngine("two"), A));
    }

    @Test
    @DisplayName("an incompatible entry is explained with its reason, in either tier")
    void incompatible() throws Exception {
        Target volta = new Target(Backend.OPENCL, "nvidia", "Device sm 7.0", "535.1");
        FakeDescriptor descriptor = A.withTarget(volta);
        FakeEngine engine = new FakeEngine("one", volta);
        Entry hopper = TestEntries.entry(
                descriptor.getId(),
                KernelBinaries.of(".version 8.7\n.target sm_90\n".getBytes(US_ASCII)));
        storeLocally(hopper);
        fleet.publishUnpacked(List.of(hopper));
        assertTrue(explain(descriptor).events().stream()
                .anyMatch(event -> event instanceof GranaryEvent.Restore restore
                        && restore.cause().orElse("").contains("sm_90")));
        assertEquals(
                "load local HIT, restore local INCOMPATIBLE, load bucket HIT,"
                        + " restore bucket INCOMPATIBLE, compile, lookup COMPILED",
                explainedAndReal(config(), engine, descriptor));
    }

    @Test
    @DisplayName("a claim of another lookup is explained as a wait, with its limit")
    void claims() throws Exception {
        Files.createDirectories(directory);
        assertEquals(Optional.empty(), waitLimit(explain(A)));
        GranaryConfig impatient =
                fleet.config("node").claimWait(Duration.ofMillis(1)).build();
        try (LocalClaims claims = LocalClaims.open(directory)) {
            ClaimResult.Mine mine =
                    assertInstanceOf(ClaimResult.Mine.class, claims.claim(A.getId()));
            assertEquals(Optional.of(Duration.ofSeconds(60)), waitLimit(explain(A)));
            assertEquals(Optional.empty(), waitLimit(explain(FakeDescriptor.of("b"))));
            assertEquals(
                    COMPILED,
                    String.join(
                            ", ",
                            steps(explain(
                                            fleet.config("node")
                                                    .claimWait(Duration.ZERO)
                                                    .build(),
                                            A,
                                            List.of(),
                                            Instant.now())
                                    .events())));
            assertEquals(
                    "load local ABSENT, wait GIVEN_UP, load bucket ABSENT, compile,"
                            + " lookup COMPILED",
                    explainedAndReal(impatient, fleet.engine, A));
            mine.close();
        }
        assertEquals(Optional.empty(), waitLimit(explain(A)), "a hit needs no claim");
    }

    @Test
    @DisplayName("namespaces are searched as the table of backends permits, each tier in all")
    void namespaces() throws Exception {
        FakeDescriptor ofLevelZero = A.withTarget(LEVEL_ZERO);
        FakeEngine levelZero = new FakeEngine("level zero", LEVEL_ZERO);
        levelZero.readable = List.of(OPENCL);
        fleet.publish(List.of(entry(A, "ci")));
        assertEquals(BUCKET, explainedAndReal(config(), levelZero, ofLevelZero));
        assertEquals(LOCAL, explainedAndReal(config(), levelZero, ofLevelZero));
        FakeDescriptor b = FakeDescriptor.of("b");
        storeLocally(entry(b, "one"));
        assertEquals(LOCAL, explainedAndReal(config(), levelZero, b.withTarget(LEVEL_ZERO)));
        FakeEngine openCl = new FakeEngine("open cl");
        openCl.readable = List.of(LEVEL_ZERO); // the table does not permit it
        storeLocally(entry(FakeDescriptor.of("c").withTarget(LEVEL_ZERO), "one"));
        assertEquals(COMPILED, explainedAndReal(config(), openCl, FakeDescriptor.of("c")));
    }

    @Test
    @DisplayName("an unavailable bucket, a disabled engine, a capacity of 0 and an empty id are"
            + " explained as compiles")
    void withoutTiers() throws Exception {
        assertEquals(
                "load local ABSENT, load bucket UNAVAILABLE, compile, lookup COMPILED",
                explainedAndReal(fleet.config("node", "s3://absent/ci").build(), fleet.engine, A));
        assertEquals(
                "compile, lookup COMPILED",
                explainedAndReal(
                        fleet.config("node").enabled("opencl:off").build(), fleet.engine, A));
        fleet.publishUnpacked(List.of(entry(A, "one")));
        assertEquals(
                BUCKET,
                explainedAndReal(fleet.config("node").capacity("0").build(), fleet.engine, A));
        assertEquals(
                "compile, lookup COMPILED", explainedAndReal(FakeDescriptor.notCacheable("x")));
    }

    @Test
    @DisplayName("several layers are explained in their order: a directory, a bucket with a damaged"
            + " entry, and a bucket that does not exist")
    void layers() throws Exception {
        Path shared = Files.createDirectories(directory.resolveSibling("shared"));
        String layers = "s3://absent/ci s3://kernels/ci file://" + shared;
        assertThat(new SharedDirectory(shared, true, TrustPolicy.OFF).store(entry(A, "ci")))
                .isStored();
        fleet.publishUnpacked(List.of(entry(A, "ci")));
        fleet.change(fleet.keys("/e/").getFirst(), bytes -> {
            bytes[bytes.length - 1] ^= 1;
            return bytes;
        });
        assertEquals(
                "load local ABSENT, load bucket UNAVAILABLE, load bucket DAMAGED, load bucket HIT,"
                        + " restore bucket RESTORED, lookup BUCKET",
                explainedAndReal(fleet.config("node", layers).build(), fleet.engine, A));
    }

    @Test
    @DisplayName("the SPIR-V of a kernel is looked up in the compile, and then compiled, or"
            + " there is no compiler")
    void intermediate() throws Exception {
        KernelDescriptor kernel = KernelDescriptor.builder(LEVEL_ZERO, "saxpy")
                .environment(Map.of())
                .source("kernel void saxpy(global int* v) { v[0] = 1; }\n")
                .build();
        Explainer.Request request = new Explainer.Request(
                kernel.getId(), LEVEL_ZERO, List.of(), Optional.empty(), Optional.of(kernel));
        Explainer.Explanation installed =
                explain(request, new SpirvCompiler.Presence.Installed("a"));
        assertEquals(
                "load local ABSENT, load bucket ABSENT, load local ABSENT, load bucket ABSENT,"
                        + " compile, lookup COMPILED, compile, lookup COMPILED",
                String.join(", ", steps(installed.events())));
        Explainer.Explanation absent = explain(request, new SpirvCompiler.Presence.Absent());
        assertEquals(Optional.of(SpirvCompiler.REMEDY), absent.failure());
        storeLocally(TestEntries.entry(
                IntermediateDescriptor.of(kernel).getId(),
                KernelBinaries.of(SampleBinaries.bytes("saxpy.spv"), "a".getBytes(US_ASCII))));
        Explainer.Explanation kept = explain(request, new SpirvCompiler.Presence.Absent());
        assertEquals(
                "load local ABSENT, load bucket ABSENT, " + LOCAL + ", compile, lookup COMPILED",
                String.join(", ", steps(kept.events())));
        assertEquals(
                List.of("compile, lookup COMPILED"),
                List.of(String.join(
                        ", ",
                        steps(explain(request, new SpirvCompiler.Presence.Unidentified())
                                        .events())
                                .subList(2, 4))),
                "a compiler without a version uses none");
    }

    private Explainer.Explanation explain(
            Explainer.Request request, SpirvCompiler.Presence presence) throws Exception {
        SpirvCompiler compiler = new SpirvCompiler() {
            @Override
            public byte[] compile(KernelDescriptor descriptor) {
                throw new AssertionError("an explanation compiles nothing");
            }

            @Override
            public Presence presence() {
                return presence;
            }
        };
        return Explainer.explain(config(), compiler, InstantSource.system(), request);
    }
}
