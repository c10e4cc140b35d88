package dev.granary.cli.kernel;

import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The result of a command for one kernel.
 *
 * @param id its id; empty if it was not obtained
 * @param layer the position of its bucket if it came from one
 * @param from the target of its entry if that is of another namespace
 * @param waited the wait for the compile of another process or machine; zero if it did not wait
 * @param failure what went wrong, in one line; empty if nothing did
 */
record KernelResult(
        String name,
        Target target,
        Outcome outcome,
        Optional<Id> id,
        OptionalInt layer,
        Optional<Target> from,
        Duration took,
        Duration waited,
        long bytes,
        String failure,
        Optional<BuildLog> log) {
    /** Returns this result with another outcome, that of publishing. */
    KernelResult failed(Outcome later, String cause) {
        return new KernelResult(
                name, target, later, id, layer, from, took, waited, bytes, cause, Optional.empty());
    }

    /** Returns the id of the entry; empty if the kernel has none. */
    Optional<Id> entry() {
        return id.filter(each -> !each.isEmpty());
    }

    /** Returns the failure with the lines of its log. */
    String text(int logLines) {
        List<String> lines = new ArrayList<>(List.of(failure));
        log.ifPresent(all -> lines.addAll(all.lines(logLines)));
        return String.join(System.lineSeparator(), lines);
    }

    /**
     * Adds the results of a manifest to a report, and the buckets that were used for them.
     *
     * @param logLines the number of lines of each build log
     */
    static void addTo(
            Report report, List<KernelResult> results, GranaryStatistics statistics, int logLines) {
        boolean hasTargets =
                results.stream().map(KernelResult::target).distinct().count() > 1;
        boolean hasLayers = statistics.layers().size() > 1;
        report.table("results", results)
                .column(
                        hasTargets ? "=target" : "-target",
                        each -> new Report.Shown(each.target.path(), "for " + each.target.path()))
                .column("~kernel:name", KernelResult::name)
                .column("<outcome", KernelResult::outcome)
                .column(hasLayers ? "~layer" : "-layer", each -> each.layer(statistics))
                .column("time:millis", KernelResult::took)
                .column("-waited", each -> Optional.of(each.waited()).filter(Duration::isPositive))
                .column("size:bytes", KernelResult::size)
                .column("<id", each -> each.entry().map(Id::hash))
                .column("-from", each -> each.from().map(Target::path))
                .column("-error", each -> Optional.of(each.text(logLines))
                        .filter(text -> !text.isEmpty()));
        for (KernelResult result : results) {
            if (result.log().isPresent()) {
                report.error("\nFAILED " + result.name()
                        + (hasTargets ? " for " + result.target().path() : "") + ": "
                        + result.text(logLines));
            } else if (result.entry().isEmpty()) {
                report.error(result.name() + " " + result.failure());
            }
        }
        Map<String, Long> summary = new LinkedHashMap<>();
        StringBuilder line = new StringBuilder(Units.plural(results.size(), "kernel") + ": ");
        for (Outcome outcome : Outcome.values()) {
            long count =
                    results.stream().filter(each -> each.outcome == outcome).count();
            summary.put(outcome.toString(), count);
            if (count > 0 || outcome == Outcome.COMPILED) {
                line.append(Units.count(count)).append(' ').append(outcome).append(", ");
            }
        }
        long failed =
                results.stream().filter(each -> !each.outcome().isSuccess()).count();
        summary.put("failed", failed);
        report.data("summary", summary).line(line + Units.count(failed) + " failed");
        results.stream()
                .flatMap(result -> result.from().stream())
                .distinct()
                .forEach(target -> report.line("read as well: entries of " + target.path()));
        for (int i = 0; i < statistics.layers().size(); i++) {
            LayerStatistics layer = statistics.layers().get(i);
            report.part("buckets")
                    .data("name", layer.name())
                    .data("failure", layer.failure().orElse(""))
                    .data("breaker", layer.breaker())
                    .data("counters", layer.counters());
            int position = i;
            long kernels = results.stream()
                    .filter(result -> result.layer().orElse(-1) == position)
                    .count();
            if (hasLayers) {
                report.line(layer.name() + ": " + Units.plural(kernels, "kernel"));
            }
            if (layer.breaker().isPresent()) {
                report.line((hasLayers ? "  " : "bucket: ") + describe(layer));
            }
        }
        report.data("counters", statistics.counters());
        long skipped = statistics.count(Counter.LAYER_SKIPPED);
        if (skipped > 0) {
            report.line(Units.plural(skipped, "lookup")
                    + " skipped a bucket that had cost more time than it saved");
        }
    }

    private Report.Shown size() {
        return bytes == 0 ? new Report.Shown(0, "-") : Report.bytes(bytes);
    }

    private Optional<String> layer(GranaryStatistics statistics) {
        return layer.isPresent()
                ? Optional.of(statistics.layers().get(layer.getAsInt()).name())
                : Optional.empty();
    }

    /** Returns text such as {@code 9 requests, 2 retries, circuit breaker open (opened 1 time)}. */
    private static String describe(LayerStatistics layer) {
        long openings = layer.count(Counter.BREAKER_OPENINGS);
        return Units.plural(layer.count(Counter.BUCKET_REQUESTS), "request") + ", "
                + Units.plural(layer.count(Counter.BUCKET_RETRIES), "retry") + ", circuit breaker "
                + Units.word(layer.breaker().orElseThrow())
                + (openings == 0 ? "" : " (opened " + Units.plural(openings, "time") + ")");
    }
}
