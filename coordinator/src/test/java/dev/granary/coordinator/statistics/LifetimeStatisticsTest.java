package dev.granary.coordinator.statistics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.TierStatistics;
import dev.granary.gpu.composite.CompositeStatistics;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Tests of the names and values in the totals of a directory. */
class LifetimeStatisticsTest {
    /** Names that users may have in scripts. Others may be added, and none of these changes. */
    private static final Set<String> STABLE = Set.of(
            "processes",
            "primitive-hits",
            "primitives-created",
            "nested-hits",
            "nested-created",
            "kernel-hits",
            "local-hits",
            "local-damaged",
            "local-stored",
            "bucket-hits",
            "bucket-damaged",
            "bucket-unavailable",
            "bucket-skipped",
            "bucket-stored",
            "compiled",
            "compiled-again",
            "compile-failures",
            "refused-by-driver",
            "quarantined",
            "dropped",
            "left-for-later",
            "waited",
            "waits-given-up",
            "claims-unavailable",
            "compile-millis",
            "saved-millis");

    private final LookupCounters counters = new LookupCounters();
    private final LifetimeStatistics totals;

    LifetimeStatisticsTest(@TempDir Path directory) {
        this.totals = new LifetimeStatistics(directory);
    }

    private GranaryStatistics statistics(LayerStatistics... layers) {
        return new GranaryStatistics(
                new CompositeStatistics(0, 0, 0, 0, 0, 0, 0),
                0,
                0,
                new TierStatistics().snapshot(),
                List.of(layers),
                counters.snapshot());
    }

    private static LayerStatistics layer(String name) {
        return new LayerStatistics(
                name, new TierStatistics().snapshot(), 0, Optional.empty(), 0, 0, Optional.empty());
    }

    @Test
    @DisplayName("Each counter is stored, and the names of stored counters stay")
    void names() throws Exception {
        totals.add(statistics(layer("s3://kernels")));
        Set<String> stored = totals.read().keySet();
        assertEquals(
                Stream.of(
                                Stream.of("processes"),
                                Stream.of(TierCounter.values()).map(TierCounter::label),
                                Stream.of(LookupCounter.values()).map(LookupCounter::label))
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
    @DisplayName("Times are counted in nanoseconds and stored in milliseconds")
    void times() throws Exception {
        for (int i = 0; i < 1000; i++) {
            counters.add(LookupCounter.COMPILE_TIME, 1_500);
        }
        counters.increment(LookupCounter.COMPILED);
        GranaryStatistics statistics = statistics();
        assertEquals(Duration.ofNanos(1_500_000), statistics.time(LookupCounter.COMPILE_TIME));
        assertEquals(
                List.of(1L, 1L, 0L),
                List.of(
                        statistics.count(LookupCounter.COMPILE_TIME),
                        statistics.count(LookupCounter.COMPILED),
                        statistics.count(LookupCounter.ADOPTED)));
        assertThrows(IllegalArgumentException.class, () -> statistics.time(LookupCounter.COMPILED));
        totals.add(statistics);
        totals.add(statistics);
        Map<String, Long> sums = totals.read();
        assertEquals(List.of(2L, 2L), List.of(sums.get("compiled"), sums.get("compile-millis")));
    }
}
