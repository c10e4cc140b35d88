package dev.granary.coordinator.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Tests of the names and values in the totals of a directory. */
class TotalsTest {
    /** Names that users may have in scripts. Others may be added, and none of these changes. */
    private static final Set<String> STABLE = Set.of(
            "processes",
            "composite-hits",
            "composites-created",
            "nested-hits",
            "nested-created",
            "program-hits",
            "local-hits",
            "local-damaged",
            "local-stored",
            "layer-hits",
            "layer-damaged",
            "layer-unavailable",
            "layer-skipped",
            "layer-stored",
            "compiled",
            "compiled-again",
            "compile-failures",
            "restores-refused",
            "restores-quarantined",
            "stores-dropped",
            "uploads-left",
            "claim-hits",
            "claim-waits-given-up",
            "claims-unavailable",
            "compile-millis",
            "saved-millis");

    private final Counters counters = new Counters();
    private final Path directory;
    private final Totals totals;

    TotalsTest(@TempDir Path directory) {
        this.directory = directory;
        this.totals = new Totals(directory);
    }

    private GranaryStatistics statistics(LayerStatistics... layers) {
        return new GranaryStatistics(List.of(layers), counters.snapshot());
    }

    private static LayerStatistics layer(String name) {
        return new LayerStatistics(
                name, Map.of(), Optional.empty(), Duration.ZERO, Optional.empty());
    }

    @Test
    @DisplayName("Each counter is stored, and the names of stored counters stay")
    void names() throws Exception {
        totals.add(statistics(layer("s3://kernels")));
        Set<String> stored = totals.read().keySet();
        assertEquals(
                Stream.of(
                                Stream.of("processes"),
                                Stream.of(Counter.values()).map(Counter::label),
                                Stream.of(Counter.values()).map(Counter::label))
                        .flatMap(names -> names)
                        .collect(Collectors.toSet()),
                stored);
        assertTrue(stored.containsAll(STABLE), stored::toString);
    }

    @Test
    @DisplayName("Processes without a bucket add no counters of buckets")
    void withoutBuckets() throws Exception {
        totals.add(statistics());
        assertTrue(totals.read().keySet().stream().noneMatch(name -> name.startsWith("bucket")));
    }

    @Test
    @DisplayName("Counters of layers are stored by their names, and a damaged file counts as none")
    void layersAndDamage() throws Exception {
        for (int process = 0; process < 2; process++) {
            new Totals(directory)
                    .add(statistics(
                            layer("s3://kernels at http://[::1]:9000"), layer("my cache = 2")));
        }
        assertEquals(2, totals.read().get("processes"));
        assertEquals(0, totals.read().get("layer-hits s3://kernels at http://[::1]:9000"));
        assertEquals(0, totals.read().get("layer-hits my cache = 2"));
        for (String damaged : List.of("processes", "2", "x processes", "2 processes\n!", "\n")) {
            Files.writeString(directory.resolve("statistics.txt"), damaged);
            assertEquals(Map.of(), totals.read(), damaged);
        }
    }

    @Test
    @DisplayName("Times are counted in nanoseconds and stored in milliseconds")
    void times() throws Exception {
        for (int i = 0; i < 1000; i++) {
            counters.add(Counter.COMPILE_TIME, 1_500);
        }
        counters.increment(Counter.COMPILED);
        GranaryStatistics statistics = statistics();
        assertEquals(Duration.ofNanos(1_500_000), statistics.time(Counter.COMPILE_TIME));
        assertEquals(
                List.of(1L, 1L, 0L),
                List.of(
                        statistics.count(Counter.COMPILE_TIME),
                        statistics.count(Counter.COMPILED),
                        statistics.count(Counter.UPLOADS_INHERITED)));
        assertThrows(IllegalArgumentException.class, () -> statistics.time(Counter.COMPILED));
        totals.add(statistics);
        new Totals(directory).add(statistics);
        Map<String, Long> sums = totals.read();
        assertEquals(List.of(2L, 2L), List.of(sums.get("compiled"), sums.get("compile-millis")));
    }

    @Test
    @DisplayName("A process that adds its counters again adds what it has counted since, also after"
            + " a reset, and counts as one process")
    void again() throws Exception {
        counters.add(Counter.COMPILED, 3);
        totals.add(statistics());
        counters.add(Counter.COMPILED, 2);
        Map<String, Long> sums = totals.add(statistics());
        assertEquals(List.of(5L, 1L), List.of(sums.get("compiled"), sums.get("processes")));
        assertEquals(sums, totals.read());
        totals.reset();
        counters.increment(Counter.COMPILED);
        assertEquals(1, totals.add(statistics()).get("compiled"));
    }
}
