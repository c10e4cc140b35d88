package dev.granary.cli.entry;

import dev.granary.cli.entry.StatsCommand.Usage;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.ReportTable;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.s3.UseNotes;
import dev.granary.s3.UseNotes.UseNote;

import java.io.IOException;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The use of a bucket by a fleet, from the notes of its machines. They are claims of whoever may
 * write to the bucket.
 */
final class FleetUse {
    /** The causes of misses, as far as they have a counter; the other compiles were absent. */
    private static final List<Counter> CAUSES = List.of(
            Counter.COMPILED,
            Counter.COMPILE_FAILURES,
            Counter.NOT_CACHEABLE,
            Counter.DISABLED,
            Counter.COMPILED_AGAIN,
            Counter.LOCAL_DAMAGED,
            Counter.LAYER_DAMAGED,
            Counter.LOCAL_UNTRUSTED,
            Counter.LAYER_UNTRUSTED,
            Counter.LAYER_UNAVAILABLE,
            Counter.LAYER_SKIPPED,
            Counter.RESTORES_REFUSED,
            Counter.RESTORES_INCOMPATIBLE,
            Counter.RESTORES_QUARANTINED);

    final LocalDate today = LocalDate.now(ZoneOffset.UTC);
    final SortedMap<LocalDate, Sum> days = new TreeMap<>();
    final Map<String, Sum> targets = new HashMap<>();
    final Sum all = new Sum();
    private long ignored;

    /** The notes of a day, of a target, or all. */
    static final class Sum {
        private final Set<String> machines = new HashSet<>();
        private final Map<String, long[]> ids = new HashMap<>();
        private final Map<String, Long> counters = new HashMap<>();
        private final SortedSet<LocalDate> days = new TreeSet<>();
        private long savedMillis;

        private void add(UseNote note) {
            addShare(note, 1);
            note.counters().forEach((name, count) -> counters.merge(name, count, Units::sum));
        }

        /** Adds a share of a note: all of it, or that of a target. */
        private void addShare(UseNote note, double share) {
            machines.add(note.machine());
            days.add(note.day());
            long saved = note.counters().getOrDefault(Counter.SAVED_TIME.label(), 0L);
            savedMillis = Units.sum(savedMillis, Math.round(saved * share));
        }

        private void add(String target, long[] hashes) {
            ids.merge(target, hashes, UseNote::union);
        }

        Optional<LocalDate> last() {
            return days.isEmpty() ? Optional.empty() : Optional.of(days.last());
        }

        int nodes() {
            return machines.size();
        }

        long ids() {
            return ids.values().stream().mapToLong(each -> each.length).sum();
        }

        long count(Counter counter) {
            return counters.getOrDefault(counter.label(), 0L);
        }

        /** Returns the kernels that a directory or a bucket had; memory is not asked. */
        long hits() {
            return Units.sum(count(Counter.LOCAL_HITS), count(Counter.LAYER_HITS));
        }

        Optional<Double> hitRate() {
            long needed = Units.sum(hits(), count(Counter.COMPILED));
            return needed == 0 ? Optional.empty() : Optional.of((double) hits() / needed);
        }

        long savedMillis() {
            return savedMillis;
        }
    }

    /** Reads the notes of the last days, with today. */
    static FleetUse read(UseNotes notes, int days) throws IOException {
        FleetUse use = new FleetUse();
        LocalDate first = use.today.minusDays(days - 1L);
        use.ignored = notes.read(first, use.today.plusDays(1), use::add);
        return use;
    }

    private void add(UseNote note) {
        Sum day = days.computeIfAbsent(note.day(), _ -> new Sum());
        day.add(note);
        all.add(note);
        double used = note.ids().values().stream().mapToLong(ids -> ids.length).sum();
        note.ids().forEach((target, hashes) -> {
            day.add(target, hashes);
            all.add(target, hashes);
            targets.computeIfAbsent(target, _ -> new Sum()).addShare(note, hashes.length / used);
        });
    }

    /** Adds the figures of all days, of each day, and the misses by cause. */
    void add(int asked, Report report) {
        report.field("days", asked)
                .field("nodes", all.nodes())
                .field("ids used", all.ids())
                .field("saved:savedMillis", time(all.savedMillis()))
                .count("ignored", ignored, "object", "below use/ ignored: no note")
                .line("");
        if (days.isEmpty()) {
            report.line("No machine has noted a use in this time.");
        }
        addDays(report);
        report.line("");
        addMisses(report);
    }

    ReportTable<?> addDays(Report report) {
        return report.table("byDay", days.entrySet())
                .column("day", Map.Entry::getKey)
                .column("nodes", day -> day.getValue().nodes())
                .column("ids used", day -> day.getValue().ids())
                .column("hits", day -> day.getValue().hits())
                .column("hit rate", day -> day.getValue().hitRate().map(FleetUse::percent))
                .column("compiled", day -> day.getValue().count(Counter.COMPILED))
                .column("time saved:savedMillis", day -> time(day.getValue().savedMillis()));
    }

    /**
     * Adds a table of the targets of a bucket, with their use as far as it is noted. What a machine
     * of several targets saved is divided by the ids that it used.
     */
    ReportTable<?> addTargets(Map<String, Usage> usage, Report report) {
        Sum none = new Sum();
        return report.table("targets", usage.entrySet())
                .column("=target", Map.Entry::getKey)
                .column("entries", each -> each.getValue().entries())
                .column("size:bytes", each -> Report.bytes(each.getValue().bytes()))
                .column(
                        "compile time:compileMillis",
                        each -> time(each.getValue().compileMillis()))
                .column("nodes", each -> targets.getOrDefault(each.getKey(), none)
                        .nodes())
                .column("last use", each -> targets.getOrDefault(each.getKey(), none)
                        .last())
                .column(
                        "saved:savedMillis",
                        each -> time(targets.getOrDefault(each.getKey(), none).savedMillis()));
    }

    ReportTable<?> addMisses(Report report) {
        List<Counter> causes =
                CAUSES.stream().filter(cause -> all.count(cause) > 0).toList();
        return report.table("misses", causes)
                .column("misses:cause", Counter::label)
                .column("count", all::count);
    }

    static Report.Shown time(long millis) {
        return new Report.Shown(millis, Units.millis((double) millis));
    }

    static Report.Shown percent(double rate) {
        return new Report.Shown(rate, String.format(Locale.ROOT, "%.1f %%", rate * 100));
    }
}
