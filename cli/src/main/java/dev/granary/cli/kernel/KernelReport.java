package dev.granary.cli.kernel;

import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Report of the kernels of a manifest, and of the buckets that were used for them. */
record KernelReport(List<KernelResult> results, GranaryStatistics statistics) {
    /** Adds rows, failures, counts and buckets to a report. */
    void addTo(Report report, int logLines) {
        boolean hasTargets =
                results.stream().map(KernelResult::target).distinct().count() > 1;
        boolean hasLayers = statistics.layers().size() > 1;
        report.table("results", results)
                .column(hasTargets ? "=target" : "-target", KernelReport::target)
                .column("~kernel:name", KernelResult::name)
                .column("<outcome", KernelResult::outcome)
                .column(hasLayers ? "~layer" : "-layer", this::layer)
                .column("time:millis", KernelResult::took)
                .column("-waited", each -> Optional.of(each.waited()).filter(Duration::isPositive))
                .column("size:bytes", KernelReport::size)
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
        for (Outcome outcome : Outcome.values()) {
            summary.put(outcome.toString(), count(outcome));
        }
        long failed =
                results.stream().filter(each -> !each.outcome().isSuccess()).count();
        StringBuilder line = new StringBuilder(Units.plural(results.size(), "kernel") + ": ");
        summary.forEach((outcome, count) -> {
            if (count > 0 || outcome.equals(Outcome.COMPILED.toString())) {
                line.append(Units.count(count)).append(' ').append(outcome).append(", ");
            }
        });
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
                    .data("breaker", layer.breaker().map(KernelReport::state))
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

    private long count(Outcome outcome) {
        return results.stream().filter(result -> result.outcome() == outcome).count();
    }

    private static Report.Shown target(KernelResult result) {
        return new Report.Shown(result.target().path(), "for " + result.target().path());
    }

    private static Report.Shown size(KernelResult result) {
        return result.bytes() == 0 ? new Report.Shown(0, "-") : Report.bytes(result.bytes());
    }

    private Optional<String> layer(KernelResult result) {
        return result.layer().isPresent()
                ? Optional.of(statistics.layers().get(result.layer().getAsInt()).name())
                : Optional.empty();
    }

    /** Returns text such as {@code 9 requests, 2 retries, circuit breaker open (opened 1 time)}. */
    private static String describe(LayerStatistics layer) {
        long openings = layer.count(Counter.BREAKER_OPENINGS);
        return Units.plural(layer.count(Counter.BUCKET_REQUESTS), "request") + ", "
                + Units.plural(layer.count(Counter.BUCKET_RETRIES), "retry") + ", circuit breaker "
                + state(layer.breaker().orElseThrow())
                + (openings == 0 ? "" : " (opened " + Units.plural(openings, "time") + ")");
    }

    private static String state(LayerStatistics.Breaker breaker) {
        return breaker.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
