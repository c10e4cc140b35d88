package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.cli.Cli;
import dev.granary.cli.output.Report;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Tests that each counter reaches the output of commands. */
class CountersTest {
    private final TestNode node;

    CountersTest(@TempDir Path directory) {
        this.node = new TestNode(directory.resolve("local"), new FakeBucket());
    }

    /** Returns the description of each counter by its name. */
    private static Map<String, String> descriptions() {
        Map<String, String> descriptions = new TreeMap<>();
        for (Counter counter : Counter.values()) {
            assertNull(descriptions.put(counter.label(), counter.description()), counter::label);
        }
        return descriptions;
    }

    @Test
    @DisplayName("each counter is a row of stats, and a property of its JSON")
    void stats() throws Exception {
        try (Granary granary = node.open()) {
            granary.primitive(new FakeEngine("one"), FakeDescriptor.of("a"));
        }
        String directory = node.directory.toString();
        List<String> rows = Cli.run("stats", "--dir", directory)
                .exits(0)
                .out()
                .lines()
                .map(line -> line.split(" ")[0])
                .toList();
        JsonObject json = Cli.run("stats", "--dir", directory, "--json")
                .exits(0)
                .json()
                .getAsJsonObject("counters");
        for (String name : descriptions().keySet()) {
            assertTrue(rows.contains(name), name);
            assertTrue(json.has(name), name);
        }
        assertEquals(1, json.get(Counter.COMPILED.label()).getAsLong());
    }

    private static GranaryStatistics statistics(LayerStatistics... layers) {
        return new GranaryStatistics(List.of(layers), new Counters().snapshot());
    }

    private static LayerStatistics layer() {
        return new LayerStatistics(
                "s3://kernels",
                Stream.of(Counter.values())
                        .filter(Counter::isOfLayers)
                        .collect(Collectors.toMap(counter -> counter, _ -> 0L)),
                Optional.empty(),
                Duration.ZERO,
                Optional.of(LayerStatistics.Breaker.CLOSED));
    }

    @Test
    @DisplayName("each counter is in the JSON of get and populate, and each counter of buckets"
            + " in that of each bucket")
    void reports() {
        StringWriter out = new StringWriter();
        Report report = new Report(new PrintWriter(out), new PrintWriter(out), true);
        KernelResult.addTo(report, List.of(), statistics(layer()), BuildLog.MAX_LINES);
        report.print();
        JsonObject json = JsonParser.parseString(out.toString()).getAsJsonObject();
        assertEquals(descriptions().keySet(), json.getAsJsonObject("counters").keySet());
        Set<String> ofBuckets = new TreeSet<>(descriptions().keySet());
        ofBuckets.removeAll(statistics().counters().keySet());
        assertTrue(ofBuckets.contains(Counter.LAYER_HITS.label()), ofBuckets::toString);
        JsonObject bucket = json.getAsJsonArray("buckets").get(0).getAsJsonObject();
        assertEquals(ofBuckets, bucket.getAsJsonObject("counters").keySet());
    }
}
