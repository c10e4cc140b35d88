package dev.granary.cli.entry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.support.ClaimStore.Claim;
import dev.granary.cli.Cli;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.local.SharedDirectory;
import dev.granary.s3.UseNotes.UseNote;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Tests of hit rates, metrics for Prometheus, and the reset of counters. */
class StatsCommandTest {
    private static final String NASTY = "rack \"7\" \\ a";
    private static final String LABEL = "[a-z]+=\"(?:[^\"\\\\\n]|\\\\[\\\\\"n])*\"";
    private static final Pattern SAMPLE =
            Pattern.compile("([a-z_]+)(\\{" + LABEL + "(?:," + LABEL + ")*\\})? (\\S+)");

    private final TestNode node;
    private final String local;

    StatsCommandTest(@TempDir Path directory) {
        this.node = new TestNode(directory.resolve("local"), new FakeBucket());
        this.local = node.directory.toString();
    }

    /** Compiles two programs, looks one up again in memory, and one in the directory. */
    private void use() throws Exception {
        FakeEngine engine = new FakeEngine("one");
        try (Granary granary = Granary.builder()
                .config(node.config().offline().flushLimit(TestNode.LONG).build())
                .layer(NASTY, new FakeBucket())
                .layer("other", new FakeBucket())
                .open()) {
            granary.primitive(engine, FakeDescriptor.of("a"));
            granary.primitive(engine, FakeDescriptor.of("b"));
            granary.primitive(engine, FakeDescriptor.of("b"));
            assertTrue(granary.flush(TestNode.LONG));
            granary.setPrimitiveCacheCapacity(0);
            granary.primitive(engine, FakeDescriptor.of("a"));
        }
    }

    /** Returns the samples by their names with labels, after the checks of promtool. */
    private static Map<String, Double> samples(String text) {
        Map<String, Double> samples = new HashMap<>();
        Set<String> families = new HashSet<>();
        String family = "";
        String type = "";
        assertTrue(text.endsWith("\n"));
        List<String> lines = text.lines().toList();
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i);
            if (line.startsWith("# HELP ")) {
                family = line.split(" ")[2];
                assertTrue(families.add(family), "two families " + family);
                assertFalse(line.endsWith(family), "no help");
                assertTrue(lines.get(i + 1).startsWith("# TYPE " + family + " "), family);
            } else if (line.startsWith("# TYPE ")) {
                assertEquals(family, line.split(" ")[2]);
                type = line.split(" ")[3];
                assertTrue(Set.of("counter", "gauge").contains(type), type);
                assertEquals(type.equals("counter"), family.endsWith("_total"), family);
            } else {
                Matcher sample = SAMPLE.matcher(line);
                assertTrue(sample.matches(), line);
                assertEquals(family, sample.group(1));
                double value = Double.parseDouble(sample.group(3));
                assertTrue(value >= 0, line);
                String labels = sample.group(2) == null ? "" : sample.group(2);
                assertEquals(null, samples.put(family + labels, value), line);
            }
        }
        return samples;
    }

    @Test
    @DisplayName("--prometheus prints each counter by the rules of the text format, with escaped"
            + " labels")
    void prometheus() throws Exception {
        use();
        Map<String, Double> samples = samples(
                Cli.run("stats", "--dir", local, "--prometheus").exits(0).out());
        for (Counter counter : Counter.values()) {
            String name = counter.prometheusName();
            assertTrue(
                    samples.keySet().stream()
                            .anyMatch(
                                    sample -> sample.equals(name) || sample.startsWith(name + "{")),
                    name);
        }
        assertEquals(2, samples.get("granary_compiled_total"));
        assertEquals(1, samples.get("granary_processes_total"));
        assertEquals(1, samples.get("granary_local_hits_total"));
        assertEquals(3, samples.get("granary_local_lookups_total"));
        assertEquals(0x1p32, samples.get("granary_capacity_bytes"));
        assertTrue(
                samples.containsKey("granary_layer_hits_total{layer=\"rack \\\"7\\\" \\\\ a\"}"),
                samples::toString);
        assertTrue(samples.keySet().stream()
                .anyMatch(name -> name.startsWith("granary_entries{tier=\"local\",target=\"opencl/")
                        && samples.getOrDefault(name, 0.0) == 2));
        assertTrue(samples.keySet().stream()
                .anyMatch(name -> name.startsWith("granary_build_info{version=")));
    }

    @Test
    @DisplayName("--prometheus of an unused directory is valid as well, and excludes --json")
    void prometheusWithoutUse() {
        Map<String, Double> samples = samples(
                Cli.run("stats", "--dir", local, "--prometheus").exits(0).out());
        assertTrue(samples.keySet().stream().noneMatch(name -> name.endsWith("_total")));
        Cli.run("stats", "--dir", local, "--prometheus", "--json")
                .exits(2)
                .reports("--prometheus and --json exclude each other");
    }

    @Test
    @DisplayName("stats prints hit rate and mean time of each tier, in 80 columns and as JSON")
    void rates() throws Exception {
        use();
        Cli.run("stats", "--dir", local)
                .exits(0)
                .prints("hit rate", "mean time", "25.0 %", "33.3 %")
                .isNarrow();
        JsonObject json = Cli.run("stats", "--dir", local, "--json").exits(0).json();
        JsonObject memory = json.getAsJsonArray("tiers").get(0).getAsJsonObject();
        assertEquals("memory", memory.get("tier").getAsString());
        assertEquals(4, memory.get("lookups").getAsLong());
        assertEquals(0.25, memory.get("hitRate").getAsDouble());
        assertTrue(memory.get("meanMillis").isJsonNull());
        JsonObject tier = json.getAsJsonArray("tiers").get(1).getAsJsonObject();
        assertEquals(3, tier.get("lookups").getAsLong());
        assertTrue(tier.get("meanMillis").getAsDouble() > 0);
        JsonObject compiler = json.getAsJsonArray("tiers").get(3).getAsJsonObject();
        assertEquals("compiler", compiler.get("tier").getAsString());
        assertTrue(compiler.get("hitRate").isJsonNull());
    }

    @Test
    @DisplayName("stats prints the claims between machines, derived from their counters")
    void claims() throws Exception {
        Path shared = node.directory.resolveSibling("shared");
        FakeDescriptor kernel = FakeDescriptor.of("a");
        try (SharedDirectory left = new SharedDirectory(shared, true, TrustPolicy.OFF);
                Granary granary = Granary.open(node.config()
                        .bucket("file://" + shared)
                        .bucketWait(TestNode.LONG)
                        .build())) {
            left.claims()
                    .claim(
                            kernel.getId(),
                            new Claim(
                                    "0123456789abcdef",
                                    Duration.ofMillis(1),
                                    Claim.State.COMPILING));
            granary.primitive(new FakeEngine("one"), kernel);
        }
        JsonObject json = Cli.run("stats", "--dir", local, "--json").exits(0).json();
        assertEquals(
                "{\"won\":1,\"waited\":1,\"expired\":1,\"takeovers\":1}",
                json.get("claims").toString());
        Cli.run("stats", "--dir", local)
                .exits(0)
                .prints("\nclaims     1 won; 1 wait, 1 expired; 1 takeover\n");
    }

    @Test
    @DisplayName("--reset prints the counters and sets them to 0; entries stay, and later"
            + " processes count from there")
    void reset() throws Exception {
        use();
        Cli.run("stats", "--dir", local, "--reset")
                .exits(0)
                .prints("entries    2", "compiled", "All counters are 0 now.");
        Cli.run("stats", "--dir", local)
                .exits(0)
                .prints("entries    2", "There are no counters in " + local + " yet");
        use();
        JsonObject totals = Cli.run("stats", "--dir", local, "--reset", "--json")
                .exits(0)
                .json()
                .getAsJsonObject("counters");
        assertEquals(1, totals.get("processes").getAsLong());
        assertEquals(0, totals.get("compiled").getAsLong());
        Cli.run("stats", "--dir", local + "-none", "--reset").exits(0);
        Cli.run("stats", "s3://kernels", "--reset").exits(2).reports("it has no counters");
    }

    @Test
    @DisplayName(
            "--format github prints lists and tables in Markdown, in which a foreign name is no"
                    + " markup, and excludes the other forms")
    void github() throws Exception {
        use();
        String text = Cli.run("stats", "--dir", local, "--format", "github")
                .exits(0)
                .prints("* entries: 2\n", "\n\n| counter | count |\n|---|--:|\n")
                .prints("| compiled | 2 |\n", "| local | 3 | 1 | 33.3 % |")
                .prints("| layer-hits rack \"7\" \\\\ a | 0 |")
                .out();
        assertFalse(text.contains("\n\n\n"), text);
        assertTrue(
                text.lines()
                        .allMatch(line -> line.isEmpty()
                                || line.startsWith("* ")
                                || line.startsWith("| ")
                                || line.startsWith("|--")
                                || line.startsWith("All processes")),
                text);
        for (String other : List.of("--json", "--prometheus")) {
            Cli.run("stats", "--dir", local, "--format", "github", other).exits(2);
        }
        Cli.run("stats", "--dir", local, "--format", "gitlab").exits(2);
    }

    @Test
    @DisplayName("--fleet needs a bucket, and --days a number of days that is possible")
    void fleetUsage() {
        Cli.run("stats", "--fleet", "--dir", local)
                .exits(2)
                .reports("No bucket is configured; name one");
        Cli.run("stats", "--fleet", local).exits(2).reports("is not a bucket");
        Cli.run("stats", "--fleet", "s3://kernels", "--days", "0").exits(2).reports("1 to 400");
        Cli.run("stats", "--fleet", "s3://kernels", "--reset").exits(2).reports("no effect");
    }

    @Test
    @DisplayName("--fleet has the sums of the machines by day, without notes of earlier days,"
            + " whatever they contain")
    void fleet(@TempDir Path directory) throws Exception {
        LocalDate today = LocalDate.now(ZoneOffset.UTC);
        try (TestFleet fleet = new TestFleet(directory)) {
            for (int i = 0; i < 9; i++) {
                fleet.note(new UseNote(
                        today.minusDays(i),
                        "000000000000000" + i % 2,
                        new TreeMap<>(Map.of("opencl/a", new long[] {1, i})),
                        Map.of(
                                "local-hits", 1_000_000_000_000_000L,
                                "compiled", 1_000_000_000_000_000L,
                                "saved-millis", 1_000_000_000_000_000L,
                                "local-damaged", 2L)));
            }
            JsonObject json = Cli.run(
                            "stats",
                            "s3://kernels/ci",
                            "--fleet",
                            "--json",
                            "--days",
                            "3",
                            "--endpoint",
                            fleet.endpoint())
                    .exits(0)
                    .json();
            assertEquals(3, json.getAsJsonArray("byDay").size());
            assertEquals(2, json.get("nodes").getAsLong());
            assertEquals(3, json.get("idsUsed").getAsLong());
            JsonObject first = json.getAsJsonArray("byDay").get(0).getAsJsonObject();
            assertEquals(today.minusDays(2).toString(), first.get("day").getAsString());
            assertEquals(0.5, first.get("hitRate").getAsDouble());
            assertEquals(
                    6,
                    json.getAsJsonArray("misses")
                            .get(1)
                            .getAsJsonObject()
                            .get("count")
                            .getAsLong());
        }
        Cli.run("stats", "s3://kernels/ci", "--fleet", "--endpoint", "http://127.0.0.1:1")
                .exits(1)
                .reports("The notes of use cannot be listed");
    }

    @Test
    @DisplayName("What a machine saved is divided among its targets, by the ids that it used")
    void savedByTarget(@TempDir Path directory) throws Exception {
        LocalDate today = LocalDate.now(ZoneOffset.UTC);
        String one = TestEntries.TARGET.path();
        String two = TestEntries.OTHER_TARGET.path();
        try (TestFleet fleet = new TestFleet(directory)) {
            for (Target target : List.of(TestEntries.TARGET, TestEntries.OTHER_TARGET)) {
                fleet.publish(List.of(TestEntries.entry(
                        Id.builder(target).field("test", "saved").build(),
                        KernelBinaries.of(new byte[9]))));
            }
            fleet.note(new UseNote(
                    today,
                    "0000000000000001",
                    new TreeMap<>(Map.of(one, new long[] {1, 2, 3}, two, new long[] {4})),
                    Map.of("saved-millis", 8000L)));
            fleet.note(new UseNote(
                    today,
                    "0000000000000002",
                    new TreeMap<>(Map.of(two, new long[] {4})),
                    Map.of("saved-millis", 1000L)));
            JsonObject json = Cli.run(
                            "stats", "s3://kernels/ci", "--json", "--endpoint", fleet.endpoint())
                    .exits(0)
                    .json();
            assertEquals(9000, json.get("savedMillis").getAsLong());
            assertEquals(
                    Map.of(one, 6000L, two, 3000L),
                    json.getAsJsonArray("targets").asList().stream()
                            .map(JsonElement::getAsJsonObject)
                            .collect(Collectors.toMap(
                                    each -> each.get("target").getAsString(),
                                    each -> each.get("savedMillis").getAsLong())));
        }
    }
}
