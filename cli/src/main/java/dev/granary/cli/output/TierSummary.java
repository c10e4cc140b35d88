package dev.granary.cli.output;

import com.google.gson.JsonArray;

import dev.granary.coordinator.statistics.Counter;

import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;

/** Summary of counters: the hit rate and the mean time of a lookup for each tier. */
public final class TierSummary {
    private static final String NONE = "-";
    private static final double MICROS_PER_MILLI = 1e3;

    private final List<Row> rows;

    /**
     * Creates the summary of {@code counters}.
     *
     * @param counters values by label
     */
    public TierSummary(Map<String, Long> counters) {
        long memoryHits = count(counters, Counter.PROGRAM_HITS.label());
        long compiled = count(counters, Counter.COMPILED.label());
        this.rows = List.of(
                new Row(
                        "memory",
                        memoryHits + count(counters, Counter.PROGRAM_MISSES.label()),
                        memoryHits,
                        OptionalDouble.empty()),
                tier(
                        "local",
                        counters,
                        Counter.LOCAL_LOOKUPS,
                        Counter.LOCAL_HITS,
                        Counter.LOCAL_TIME),
                tier(
                        "buckets",
                        counters,
                        Counter.LAYER_LOOKUPS,
                        Counter.LAYER_HITS,
                        Counter.LAYER_TIME),
                new Row(
                        "compiler",
                        compiled,
                        compiled,
                        mean((double) count(counters, Counter.COMPILE_TIME.label()), compiled)));
    }

    /** Lookups in one tier. The compiler has no hit rate. */
    private record Row(String name, long lookups, long hits, OptionalDouble meanMillis) {
        /**
         * Returns the share of hits; empty without lookups, and with counters of older versions,
         * which may have more hits than lookups.
         */
        OptionalDouble hitRate() {
            return lookups == 0 || hits > lookups || name.equals("compiler")
                    ? OptionalDouble.empty()
                    : OptionalDouble.of((double) hits / lookups);
        }
    }

    private static Row tier(
            String name,
            Map<String, Long> counters,
            Counter lookups,
            Counter hits,
            Counter micros) {
        long count = count(counters, lookups.label());
        return new Row(
                name,
                count,
                count(counters, hits.label()),
                mean(count(counters, micros.label()) / MICROS_PER_MILLI, count));
    }

    private static long count(Map<String, Long> counters, String label) {
        return counters.getOrDefault(label, 0L);
    }

    private static OptionalDouble mean(double sum, long count) {
        return count == 0 ? OptionalDouble.empty() : OptionalDouble.of(sum / count);
    }

    /** Prints a table. */
    public void print(PrintWriter out) {
        TextTable table = new TextTable("tier", "lookups", "hits", "hit rate", "mean time");
        for (Row row : rows) {
            table.row(
                    row.name(),
                    Units.count(row.lookups()),
                    row.name().equals("compiler") ? NONE : Units.count(row.hits()),
                    row.hitRate().isPresent()
                            ? String.format(
                                    Locale.ROOT, "%.1f %%", row.hitRate().getAsDouble() * 100)
                            : NONE,
                    row.meanMillis().isPresent() ? millis(row.meanMillis().getAsDouble()) : NONE);
        }
        table.print(out);
    }

    private static String millis(double millis) {
        return millis < 1 ? String.format(Locale.ROOT, "%.3f ms", millis) : Units.millis(millis);
    }

    /** Returns an array with an object for each tier; unknown values are left out. */
    public JsonArray json() {
        JsonArray array = new JsonArray();
        for (Row row : rows) {
            var object = JsonOutput.object("tier", row.name(), "lookups", row.lookups());
            if (!row.name().equals("compiler")) {
                object.addProperty("hits", row.hits());
            }
            row.hitRate().ifPresent(rate -> object.addProperty("hitRate", rate));
            row.meanMillis().ifPresent(mean -> object.addProperty("meanMillis", mean));
            array.add(object);
        }
        return array;
    }
}
