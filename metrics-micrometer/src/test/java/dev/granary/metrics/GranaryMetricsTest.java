package dev.granary.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.CompileException;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Tests of the meters of a Granary, and of the table that documents them. */
class GranaryMetricsTest {
    private static final Path PAGE = Path.of("..", "docs", "operations.md");
    private static final String LAYER = "shared";

    private final TestNode node;
    private final FakeBucket bucket = new FakeBucket();

    GranaryMetricsTest(@TempDir Path directory) {
        this.node = new TestNode(directory.resolve("local"), bucket);
    }

    /** Does a session with events of all usual kinds, and returns its closed cache. */
    private Granary session(MeterRegistry registry) throws Exception {
        Granary granary = Granary.builder()
                .config(node.config().offline().flushLimit(TestNode.LONG).build())
                .layer(LAYER, bucket)
                .listener(new GranaryTimers(registry))
                .open();
        try (granary) {
            new GranaryMetrics(granary).bindTo(registry);
            FakeEngine engine = new FakeEngine("one");
            for (int i = 0; i < 3; i++) {
                granary.primitive(engine, FakeDescriptor.of("program " + i));
                granary.primitive(engine, FakeDescriptor.of("program " + i));
            }
            assertTrue(granary.flush(TestNode.LONG));
            granary.setPrimitiveCacheCapacity(0);
            granary.setLocalCapacity(0);
            granary.primitive(engine, FakeDescriptor.of("program 0"));
            granary.setLocalCapacity(1 << 20);
            granary.primitive(engine, FakeDescriptor.of("program 1"));
            try {
                granary.primitive(engine, FakeDescriptor.of("wrong"));
            } catch (CompileException e) {
                assertTrue(e.toString().contains("does not compile"), e::toString);
            }
        }
        return granary;
    }

    private static Set<String> names(MeterRegistry registry, Meter.Type type) {
        return registry.getMeters().stream()
                .filter(meter -> meter.getId().getType() == type)
                .map(meter -> meter.getId().getName())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    @DisplayName("each counter is a meter with its value, in base units, and each counter of"
            + " layers has a meter of the layer")
    void counters() throws Exception {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        Granary granary = session(registry);
        Map<String, Long> counted = granary.statistics().counters();
        for (Counter counter : Counter.values()) {
            if (isBound(granary, counter)) {
                assertEquals(
                        counter.inBaseUnit(counted.getOrDefault(counter.label(), 0L)),
                        registry.get(counter.metricName()).functionCounters().stream()
                                .mapToDouble(FunctionCounter::count)
                                .sum(),
                        counter.metricName());
                assertEquals(
                        counter.isOfLayers(),
                        registry.get(counter.metricName())
                                        .functionCounter()
                                        .getId()
                                        .getTag("layer")
                                != null,
                        counter.metricName());
            }
        }
        assertEquals(
                4,
                registry.get("granary.compiled").functionCounter().count()
                        + registry.get("granary.compile.failures")
                                .functionCounter()
                                .count());
        assertEquals(
                1,
                registry.get("granary.layer.hits")
                        .tag("layer", LAYER)
                        .functionCounter()
                        .count());
        assertEquals(
                counted.getOrDefault("local-micros", 0L) / 1e6,
                registry.get("granary.local.time").functionCounter().count());
        assertEquals(1 << 20, registry.get("granary.capacity").gauge().value());
        assertEquals(0, registry.get("granary.programs.capacity").gauge().value());
    }

    private static boolean isBound(Granary granary, Counter counter) {
        GranaryStatistics statistics = granary.statistics();
        return (counter.isOfLayers()
                        ? statistics.layers().getFirst().counters()
                        : statistics.counters())
                .containsKey(counter.label());
    }

    @Test
    @DisplayName("Timers have the durations of events by tier, source and outcome")
    void timers() throws Exception {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        Granary granary = session(registry);
        Timer local = registry.get("granary.load")
                .tags("tier", "local", "outcome", "hit")
                .timer();
        assertEquals(granary.statistics().count(Counter.LOCAL_HITS), local.count());
        assertEquals(
                granary.statistics().time(Counter.LOCAL_TIME).toNanos(),
                Math.round(registry.find("granary.load").tag("tier", "local").timers().stream()
                        .mapToDouble(timer -> timer.totalTime(TimeUnit.NANOSECONDS))
                        .sum()));
        assertEquals(
                List.of(3L, 1L, 1L, 1L),
                List.of(
                        registry.get("granary.lookup")
                                .tag("source", "compiled")
                                .timer()
                                .count(),
                        registry.get("granary.lookup")
                                .tag("source", "bucket")
                                .timer()
                                .count(),
                        registry.get("granary.lookup")
                                .tag("source", "local")
                                .timer()
                                .count(),
                        registry.get("granary.lookup")
                                .tag("source", "failed")
                                .timer()
                                .count()));
        assertEquals(
                3,
                registry.get("granary.upload").tag("outcome", "stored").timer().count());
        assertEquals(
                1,
                registry.get("granary.eviction").tag("tier", "memory").timer().count());
        assertEquals(3, granary.statistics().count(Counter.PROGRAMS_EVICTED));
    }

    @Test
    @DisplayName("A Prometheus registry shows each counter under the name of granary stats"
            + " --prometheus")
    void prometheusNames() throws Exception {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        Granary granary = session(registry);
        Set<String> families = registry.scrape()
                .lines()
                .filter(line -> line.startsWith("# TYPE "))
                .map(line -> line.split(" ")[2])
                .collect(Collectors.toSet());
        for (Counter metric : Counter.values()) {
            if (isBound(granary, metric)) {
                assertTrue(
                        families.contains(metric.prometheusName()),
                        () -> metric.prometheusName() + " is not in " + families);
            }
        }
    }

    @Test
    @DisplayName("docs/operations.md has the rule for names of counters, and each gauge and timer")
    void documentation() throws Exception {
        List<String> lines = Files.readAllLines(PAGE);
        for (Counter metric : List.of(
                Counter.LOCAL_HITS,
                Counter.NESTED_CREATED,
                Counter.LOCAL_READ_BYTES,
                Counter.LOCAL_TIME,
                Counter.SAVED_TIME)) {
            String row = "| `" + metric.label() + "` | `" + metric.metricName() + "` | `"
                    + metric.prometheusName() + "` |";
            assertTrue(lines.contains(row), row);
        }
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        Granary granary = session(registry);
        assertTrue(granary.statistics().layers().size() == 1);
        Set<String> others = names(registry, Meter.Type.GAUGE);
        others.addAll(names(registry, Meter.Type.TIMER));
        for (String name : others) {
            assertTrue(
                    lines.stream()
                            .anyMatch(line ->
                                    line.startsWith("| `") && line.contains("`" + name + "`")),
                    name);
        }
    }
}
