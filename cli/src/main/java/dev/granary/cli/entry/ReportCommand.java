package dev.granary.cli.entry;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cli.entry.StatsCommand.Usage;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.option.StoreOptions;
import dev.granary.cli.output.HtmlPage;
import dev.granary.cli.output.HtmlPage.Chart;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.s3.BucketTier;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/** {@code granary report}: the use of a bucket by a fleet, as one file with charts and tables. */
@Command(
        description = "Write the use of a bucket by its machines into one HTML file, which needs"
                + " no network.")
public final class ReportCommand extends OutputCommand {
    private static final double MINUTE = 60_000; // in milliseconds

    @Parameters(index = "0", paramLabel = "FILE", description = "the file to write")
    private Path file = Path.of("report.html");

    @Parameters(
            index = "1",
            arity = "0..1",
            paramLabel = "PLACE",
            description = "s3://NAME/PREFIX; default: the first bucket of GRANARY_BUCKET")
    private @Nullable String place;

    @Mixin
    private StoreOptions.Local local = new StoreOptions.Local();

    @Mixin
    private StoreOptions.Buckets buckets = new StoreOptions.Buckets();

    @Option(
            names = "--days",
            paramLabel = "N",
            defaultValue = "7",
            description = "the days, with today (default: ${DEFAULT-VALUE})")
    private int days = 7;

    @Override
    protected boolean run(Report report) throws Exception {
        StatsCommand.requireDays(days);
        FleetUse use;
        try (BucketTier bucket = PlaceOptions.openBucket(place, local, buckets)) {
            Map<String, Usage> usage = StatsCommand.usage(bucket, err());
            use = FleetUse.read(bucket.useNotes(), days);
            String name = bucket.config().location().toString();
            write(file, page(name, usage, use).html().getBytes(UTF_8), "the report");
        }
        report.field("file", file.toString()).field("days", days).field("nodes", use.all.nodes());
        return true;
    }

    private HtmlPage page(String bucket, Map<String, Usage> usage, FleetUse use) {
        Report tables = new Report(out(), err(), true); // is never printed
        Usage all = Usage.sum(usage);
        return new HtmlPage(
                "Granary: " + bucket,
                use.today.minusDays(days - 1L) + " to " + use.today + " (UTC), from the notes of "
                        + Units.plural(use.all.nodes(), "machine") + ". Written by Granary "
                        + GranaryConfig.VERSION + ".",
                List.of(
                        List.of("nodes", Units.count(use.all.nodes())),
                        List.of("kernels used", Units.count(use.all.ids())),
                        List.of("hit rate", rate(use.all)),
                        List.of("compiled", Units.count(use.all.count(Counter.COMPILED))),
                        List.of(
                                "time saved",
                                FleetUse.time(use.all.savedMillis()).text()),
                        List.of("entries", Units.count(all.entries())),
                        List.of("size", Units.bytes(all.bytes()))),
                charts(use),
                List.of(
                        use.addDays(tables).html("By day"),
                        use.addTargets(usage, tables).html("By target"),
                        use.addMisses(tables).html("Misses by cause")));
    }

    private List<Chart> charts(FleetUse use) {
        return List.of(
                byDay(
                        "Hit rate by day, in %",
                        use, "line", sum -> sum.hitRate().orElse(0.0) * 100, ReportCommand::rate),
                byDay(
                        "Compile time saved by day, in minutes",
                        use,
                        "bar",
                        sum -> sum.savedMillis() / MINUTE,
                        sum -> FleetUse.time(sum.savedMillis()).text()),
                byDay(
                        "Nodes by day",
                        use,
                        "bar",
                        FleetUse.Sum::nodes,
                        sum -> Units.plural(sum.nodes(), "node")),
                byDay(
                        "Compiled kernels by day",
                        use,
                        "bar",
                        sum -> sum.count(Counter.COMPILED),
                        sum -> Units.count(sum.count(Counter.COMPILED)) + " compiled"));
    }

    private Chart byDay(
            String title,
            FleetUse use,
            String kind,
            ToDoubleFunction<FleetUse.Sum> value,
            Function<FleetUse.Sum, String> text) {
        List<String> labels = new ArrayList<>();
        List<@Nullable Double> values = new ArrayList<>();
        List<String> texts = new ArrayList<>();
        for (int i = days - 1; i >= 0; i--) {
            LocalDate day = use.today.minusDays(i);
            FleetUse.Sum sum = use.days.get(day);
            labels.add(day.toString().substring("2026-".length()));
            values.add(sum == null ? null : value.applyAsDouble(sum));
            texts.add(sum == null ? "no notes" : text.apply(sum));
        }
        return new Chart(title, kind, labels, values, texts);
    }

    private static String rate(FleetUse.Sum sum) {
        return sum.hitRate().map(rate -> FleetUse.percent(rate).text()).orElse("-");
    }
}
