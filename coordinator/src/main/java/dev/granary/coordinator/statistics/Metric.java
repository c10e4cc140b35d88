package dev.granary.coordinator.statistics;

import dev.granary.coordinator.statistics.LookupCounter.Unit;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Name and unit of a counter in monitoring systems, which count in base units: seconds and bytes.
 * There is one for each {@link TierCounter} and {@link LookupCounter}, made from its declaration.
 *
 * @param label the name of the counter in {@link GranaryStatistics#counters()}
 * @param name the name in words with dots, such as {@code granary.compile.time}
 * @param baseUnit {@code seconds} or {@code bytes}; empty for events
 * @param description the meaning in one sentence, without a full stop
 * @param unit the unit of the counter itself
 */
public record Metric(
        String label, String name, Optional<String> baseUnit, String description, Unit unit) {
    private static final String PREFIX = "granary.";
    private static final double MILLIS_PER_SECOND = 1e3;
    private static final double MICROS_PER_SECOND = 1e6;

    /** Returns the metric of each counter, in the order of their declarations. */
    public static List<Metric> all() {
        List<Metric> all = new ArrayList<>();
        for (TierCounter counter : TierCounter.values()) {
            all.add(of(counter.label(), counter.unit(), counter.description()));
        }
        for (LookupCounter counter : LookupCounter.values()) {
            all.add(of(counter.label(), counter.unit(), counter.description()));
        }
        return List.copyOf(all);
    }

    /** Returns the metric of a counter that is declared elsewhere. */
    private static Metric of(String label, Unit unit, String description) {
        String words =
                switch (unit) {
                    // Prometheus reserves the ending
                    case EVENTS -> label.replaceFirst("-created$", "-creations");
                    case BYTES -> label.replaceFirst("-bytes$", "-size");
                    case MILLISECONDS -> label.replaceFirst("-millis$", "-time");
                    case MICROSECONDS -> label.replaceFirst("-micros$", "-time");
                };
        Optional<String> baseUnit =
                switch (unit) {
                    case EVENTS -> Optional.empty();
                    case BYTES -> Optional.of("bytes");
                    case MILLISECONDS, MICROSECONDS -> Optional.of("seconds");
                };
        return new Metric(label, PREFIX + words.replace('-', '.'), baseUnit, description, unit);
    }

    /** Returns the name of the part of one layer, such as {@code granary.layer.hits}. */
    public String layerName() {
        return PREFIX + "layer." + name.substring(PREFIX.length()).replaceFirst("^bucket\\.", "");
    }

    /**
     * Returns the name by the rules of Prometheus, such as
     * {@code granary_compile_time_seconds_total}.
     */
    public String prometheusName() {
        return name.replace('.', '_') + baseUnit.map(each -> "_" + each).orElse("") + "_total";
    }

    /**
     * Returns the value in the base unit.
     *
     * @param counters the values by label, as {@link GranaryStatistics#counters()} returns them; 0
     *     if the counter is missing
     */
    public double value(Map<String, Long> counters) {
        long counted = counters.getOrDefault(label, 0L);
        return switch (unit) {
            case EVENTS, BYTES -> counted;
            case MILLISECONDS -> counted / MILLIS_PER_SECOND;
            case MICROSECONDS -> counted / MICROS_PER_SECOND;
        };
    }
}
