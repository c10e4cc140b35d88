package dev.granary.coordinator.admin;

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
import dev.granary.coordinator.ChildProcess;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.FakePrimitive;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.admin.LookupExplanation.ClaimState;
import dev.granary.coordinator.admin.LookupExplanation.Outcome;
import dev.granary.coordinator.admin.LookupExplanation.Result;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.ClaimResult;
import dev.granary.local.LocalClaims;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;
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
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.zip.CRC32;

/**
 * Explanations of lookups in a local directory and a bucket of a real server. Each is compared with
 * the lookup that follows, and must change nothing before it.
 */
class LookupExplainerTest {
    private static final Target OPENCL = TestEntries.TARGET;
    private static final Target LEVEL_ZERO =
            new Target(Backend.LEVEL_ZERO, "test-vendor", "Test Device 9000", "1.3.3");
    private static final FakeDescriptor A = FakeDescriptor.of("a");

    private final TestFleet fleet;
    private final Path directory;

    LookupExplainerTest(@TempDir Path directory) throws Exception {
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
            tier.storeAll(List.of(entries));
        }
    }

    /** Explains twice, and checks that nothing has changed on disk and nothing was written. */
    private LookupExplanation explain(
            GranaryConfig config, FakeDescriptor descriptor, List<Target> readable, Instant now)
            throws Exception {
        SortedMap<String, String> before = files();
        fleet.requests();
        LookupExplainer explainer = new LookupExplainer(config, InstantSource.fixed(now));
        LookupExplanation first = explainer.explain(descriptor.getId(), readable, Optional.empty());
        LookupExplanation second =
                explainer.explain(descriptor.getId(), readable, Optional.empty());
        assertEquals(first.outcome(), second.outcome());
        assertEquals(first.claim(), second.claim());
        assertEquals(kinds(first), kinds(second));
        assertEquals(before, files());
        for (String request : fleet.requests()) {
            assertTrue(request.matches("(GET|HEAD|LIST) .*"), request);
        }
        return first;
    }

    private LookupExplanation explain(FakeDescriptor descriptor) throws Exception {
        return explain(config(), descriptor, List.of(), Instant.now());
    }

    /** Returns tier and kind of each answer, such as {@code local Absent}. */
    private static List<String> kinds(LookupExplanation explanation) {
        return explanation.answers().stream()
                .map(answer -> (answer.tier().equals("local") ? "local" : "bucket") + " "
                        + answer.result().getClass().getSimpleName())
                .toList();
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

    /** Looks up in a new process of the machine, and returns the explained and the real source. */
    private String explainedAndReal(FakeDescriptor descriptor) throws Exception {
        return explainedAndReal(config(), fleet.engine, descriptor);
    }

    private String explainedAndReal(
            GranaryConfig config, FakeEngine engine, FakeDescriptor descriptor) throws Exception {
        LookupExplanation explanation = explain(config, descriptor, engine.readable, Instant.now());
        String explained = text(explanation.outcome(), descriptor);
        try (Granary granary = Granary.open(config)) {
            LookupResult<FakePrimitive> found = granary.obtain(engine, descriptor);
            String real = found.source()
                    + found.from().map(from -> " from " + from.backend().path()).orElse("");
            assertEquals(real, explained, explanation::toString);
        }
        return String.join(", ", kinds(explanation)) + " -> " + explained;
    }

    private static String text(Outcome outcome, FakeDescriptor descriptor) {
        return switch (outcome) {
            case Outcome.Restore(String tier, Target from) ->
                (tier.equals("local") ? "LOCAL" : "BUCKET")
                        + (from.equals(descriptor.target())
                                ? ""
                                : " from " + from.backend().path());
            case Outcome.Compile _ -> "COMPILED";
            case Outcome.Wait wait -> "WAIT " + text(wait.otherwise(), descriptor);
        };
    }

    @Test
    @DisplayName("O11 a miss, a local hit and a bucket hit are explained as the lookup finds them")
    void hitsAndMisses() throws Exception {
        FakeDescriptor packed = FakeDescriptor.of("packed");
        FakeDescriptor unpacked = FakeDescriptor.of("unpacked");
        // before the first lookup: later ones may use the manifest on their disk for a while
        fleet.publish(List.of(entry(packed, "ci")));
        fleet.publishUnpacked(List.of(entry(unpacked, "ci")));
        assertEquals(
                "local Absent, bucket Absent -> COMPILED",
                explainedAndReal(A),
                "no directory, which the explanation does not create");
        assertEquals("local Usable -> LOCAL", explainedAndReal(A));
        assertEquals(
                List.of("in a pack", "as an unpacked entry"),
                Stream.of(packed, unpacked)
                        .map(descriptor -> {
                            try {
                                return ((Result.Usable) explain(descriptor)
                                                .answers()
                                                .getLast()
                                                .result())
                                        .place();
                            } catch (Exception e) {
                                throw new AssertionError(e);
                            }
                        })
                        .toList());
        assertEquals("local Absent, bucket Usable -> BUCKET", explainedAndReal(packed));
        assertEquals("local Absent, bucket Usable -> BUCKET", explainedAndReal(unpacked));
        assertEquals("local Usable -> LOCAL", explainedAndReal(unpacked));
    }

    @Test
    @DisplayName("O11 a damaged local entry is a miss that stays until a lookup replaces it")
    void damaged() throws Exception {
        storeLocally(entry(A, "one"));
        StoredEntry stored = StoredEntry.in(directory).getFirst();
        byte[] flipped = stored.bytes();
        flipped[flipped.length - 1] ^= 1;
        stored.overwrite(flipped);
        assertEquals("local Damaged, bucket Absent -> COMPILED", explainedAndReal(A));
        assertEquals("local Usable -> LOCAL", explainedAndReal(A));
    }

    @Test
    @DisplayName("O11 N7 an entry on which a process died is explained as quarantined, at once and"
            + " while the quarantine lasts")
    void quarantine() throws Exception {
        storeLocally(entry(A, "one"));
        InteractiveProcess child = ChildProcess.start(ChildProcess.DIES_IN_RESTORE, directory);
        assertEquals(FakeEngine.DEATH, child.finish());
        Result fresh = explain(A).answers().getFirst().result();
        assertTrue(
                assertInstanceOf(Result.Quarantined.class, fresh)
                        .reason()
                        .contains("has just ended"),
                fresh::toString);
        try (QuarantineInventory inventory =
                QuarantineInventory.open(directory, InstantSource.system())) {
            assertEquals(1, inventory.entries().size());
        }
        Result listed = explain(A).answers().getFirst().result();
        assertTrue(
                assertInstanceOf(Result.Quarantined.class, listed)
                        .reason()
                        .contains("in quarantine until"),
                listed::toString);
        LookupExplanation later =
                explain(config(), A, List.of(), Instant.now().plus(Duration.ofHours(25)));
        assertInstanceOf(Outcome.Restore.class, later.outcome(), later::toString);
        fleet.publishUnpacked(List.of(entry(A, "one")));
        assertEquals(
                "local Quarantined, bucket Quarantined -> COMPILED",
                explainedAndReal(config(), new FakeEngine("two"), A));
    }

    @Test
    @DisplayName("O11 N10 an incompatible entry is explained with its reason, in either tier")
    void incompatible() throws Exception {
        Target volta = new Target(Backend.OPENCL, "nvidia", "Device sm 7.0", "535.1");
        FakeDescriptor descriptor = A.withTarget(volta);
        FakeEngine engine = new FakeEngine("one", volta);
        Entry hopper = TestEntries.entry(
                descriptor.getId(),
                KernelBinaries.of(".version 8.7\n.target sm_90\n".getBytes(US_ASCII)));
        storeLocally(hopper);
        fleet.publishUnpacked(List.of(hopper));
        Result.Incompatible result = assertInstanceOf(
                Result.Incompatible.class,
                explain(descriptor).answers().getFirst().result());
        assertTrue(result.reason().contains("sm_90"), result::reason);
        assertEquals(
                "local Incompatible, bucket Incompatible -> COMPILED",
                explainedAndReal(config(), engine, descriptor));
    }

    @Test
    @DisplayName("O11 R9 a claim of another lookup is explained as a wait, with its limit")
    void claims() throws Exception {
        Files.createDirectories(directory);
        assertEquals(ClaimState.FREE, explain(A).claim().orElseThrow().state());
        try (LocalClaims claims = LocalClaims.open(directory)) {
            ClaimResult.Mine mine =
                    assertInstanceOf(ClaimResult.Mine.class, claims.claim(A.getId()));
            LookupExplanation taken = explain(A);
            assertEquals(ClaimState.UNDER_WAY, taken.claim().orElseThrow().state());
            Outcome.Wait wait = assertInstanceOf(Outcome.Wait.class, taken.outcome());
            assertEquals(Duration.ofSeconds(60), wait.limit());
            assertInstanceOf(Outcome.Compile.class, wait.otherwise());
            assertEquals(
                    ClaimState.FREE,
                    explain(FakeDescriptor.of("b")).claim().orElseThrow().state());
            mine.awaitLaunch();
            LookupExplanation compiled = explain(A);
            assertEquals(
                    ClaimState.AWAITING_LAUNCH, compiled.claim().orElseThrow().state());
            assertEquals(
                    Duration.ofSeconds(10),
                    assertInstanceOf(Outcome.Wait.class, compiled.outcome()).limit());
            LookupExplanation without = explain(
                    fleet.config("node").localWait(Duration.ZERO).build(),
                    A,
                    List.of(),
                    Instant.now());
            assertEquals(ClaimState.OFF, without.claim().orElseThrow().state());
            assertInstanceOf(Outcome.Compile.class, without.outcome());
            mine.close();
        }
        assertEquals(ClaimState.FREE, explain(A).claim().orElseThrow().state());
        storeLocally(entry(A, "one"));
        assertEquals(Optional.empty(), explain(A).claim(), "a hit needs none");
    }

    @Test
    @DisplayName(
            "O11 N11 namespaces are searched as the table of backends permits, each tier in all")
    void namespaces() throws Exception {
        FakeDescriptor ofLevelZero = A.withTarget(LEVEL_ZERO);
        FakeEngine levelZero = new FakeEngine("level zero", LEVEL_ZERO);
        levelZero.readable = List.of(OPENCL);
        fleet.publish(List.of(entry(A, "ci")));
        assertEquals(
                "local Absent, bucket Absent, bucket Usable -> BUCKET from opencl",
                explainedAndReal(config(), levelZero, ofLevelZero));
        assertEquals("local Usable -> LOCAL", explainedAndReal(config(), levelZero, ofLevelZero));
        FakeDescriptor b = FakeDescriptor.of("b");
        storeLocally(entry(b, "one"));
        assertEquals(
                "local Absent, local Usable -> LOCAL from opencl",
                explainedAndReal(config(), levelZero, b.withTarget(LEVEL_ZERO)));
        FakeEngine openCl = new FakeEngine("open cl");
        openCl.readable = List.of(LEVEL_ZERO); // the table does not permit it
        storeLocally(entry(FakeDescriptor.of("c").withTarget(LEVEL_ZERO), "one"));
        assertEquals(
                "local Absent, bucket Absent -> COMPILED",
                explainedAndReal(config(), openCl, FakeDescriptor.of("c")));
    }

    @Test
    @DisplayName("O11 an unavailable bucket, a disabled engine, a capacity of 0 and an empty id are"
            + " explained as compiles")
    void withoutTiers() throws Exception {
        assertEquals(
                List.of("local Absent", "bucket Unavailable"),
                kinds(explain(
                        fleet.config("node", "s3://absent/ci").build(),
                        A,
                        List.of(),
                        Instant.now())));
        storeLocally(entry(A, "one"));
        LookupExplanation disabled = explain(
                fleet.config("node").enabled("opencl:off").build(), A, List.of(), Instant.now());
        assertEquals(List.of(), disabled.answers());
        assertInstanceOf(Outcome.Compile.class, disabled.outcome());
        fleet.publishUnpacked(List.of(entry(A, "one")));
        GranaryConfig withoutLocal = fleet.config("node").capacity("0").build();
        assertEquals(
                "local Absent, bucket Usable -> BUCKET",
                explainedAndReal(withoutLocal, fleet.engine, A));
        LookupExplanation empty = explain(FakeDescriptor.notCacheable("x"));
        assertTrue(
                assertInstanceOf(Outcome.Compile.class, empty.outcome())
                        .reason()
                        .contains("for a test"),
                empty::toString);
    }
}
