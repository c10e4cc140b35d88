package dev.granary.cli.operation;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.option.PlaceOptions;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.PrometheusText;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.ReportTable;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.Place;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.machine.Totals;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.s3.BucketTier;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;

/**
 * {@code granary stats}: the content of a place, and for a directory the counters of all processes
 * of this machine.
 */
@Command(
        name = "stats",
        description = "Show what a place contains and, for a directory, what the cache has saved.")
public final class StatsCommand extends OutputCommand {
    /** Maximum number of listed targets; a foreign bucket may have any number. */
    private static final int MAX_TARGETS = 10_000;

    private static final int MAX_DAYS = 400;
    private static final String OTHERS = "(more targets)";
    private static final double MICROS_PER_MILLI = 1e3;

    @Mixin
    private PlaceOptions place = new PlaceOptions();

    @Option(names = "--prometheus", description = "print metrics in the text format of Prometheus")
    private boolean isPrometheus;

    @Option(
            names = "--format",
            paramLabel = "github",
            description = "print Markdown, for the summary of a CI job")
    private Format format = Format.TEXT;

    @Option(
            names = "--fleet",
            description = "show what all machines of a bucket noted, by day; PLACE is a bucket,"
                    + " by default the first configured one")
    private boolean isFleet;

    @Option(
            names = "--days",
            paramLabel = "N",
            defaultValue = "7",
            description = "the days of --fleet and of a bucket, with today (default:"
                    + " ${DEFAULT-VALUE})")
    private int days = 7;

    @Option(
            names = "--reset",
            description = "set the counters of the directory to 0 after printing them")
    private boolean isReset;

    /** The form of the output, beside that of {@code --json}. */
    enum Format {
        TEXT,
        GITHUB
    }

    /** Entries of one target. */
    record Usage(long entries, long bytes, long compileMillis) {
        private static final Usage NONE = new Usage(0, 0, 0);

        static Usage sum(Map<String, Usage> usage) {
            return usage.values().stream().reduce(NONE, Usage::plus);
        }

        private Usage plus(Usage other) {
            return new Usage(
                    entries + other.entries,
                    Units.sum(bytes, other.bytes),
                    Units.sum(compileMillis, other.compileMillis));
        }
    }

    @Override
    public Integer call() throws Exception {
        if ((isPrometheus && isJson()) || (format == Format.GITHUB && (isPrometheus || isJson()))) {
            throw new ConfigException(
                    "--format, --prometheus and --json exclude each other; give one");
        }
        requireDays(days);
        return isFleet ? showFleet() : showPlace();
    }

    static void requireDays(int days) throws ConfigException {
        if (days < 1 || days > MAX_DAYS) {
            throw new ConfigException("--days must be a number from 1 to " + MAX_DAYS);
        }
    }

    private int showFleet() throws Exception {
        if (isPrometheus || isReset) {
            throw new ConfigException("--prometheus and --reset have no effect on --fleet");
        }
        try (BucketTier bucket = place.openBucket()) {
            FleetUse use = FleetUse.read(bucket.useNotes(), days);
            Report report = formatted().field("place", bucket.config().location());
            use.add(days, report);
            report.print();
        }
        return 0;
    }

    private Report formatted() {
        return format == Format.GITHUB ? report().markdown() : report();
    }

    private int showPlace() throws Exception {
        try (Place inventory = place.open()) {
            Optional<GranaryConfig> local = place.config();
            if (isReset && local.isEmpty()) {
                throw new ConfigException(
                        "--reset has no effect on " + inventory.name() + ": it has no counters");
            }
            Map<String, Usage> usage = usage(inventory.catalog(), err());
            Map<String, Long> totals = local.isPresent() ? totals(local.get()) : Map.of();
            if (isPrometheus) {
                printMetrics(inventory.name(), local, usage, totals);
                return 0;
            }
            Report report = formatted().field("place", inventory.name());
            local.ifPresent(config ->
                    report.field("capacity:capacityBytes", Report.bytes(config.capacityBytes())));
            add(usage, inventory.catalog(), report);
            local.ifPresent(config -> add(config, totals, usage.isEmpty(), report));
            report.print();
            return 0;
        }
    }

    /** Returns the counters of all processes, and sets them to 0 if {@code --reset} was given. */
    private Map<String, Long> totals(GranaryConfig config) throws Exception {
        Totals statistics = new Totals(config.directory());
        if (!isReset) {
            return statistics.read();
        }
        try {
            return statistics.reset();
        } catch (IOException e) {
            throw new CommandFailedException("the counters cannot be set to 0: " + e);
        }
    }

    private void printMetrics(
            String place,
            Optional<GranaryConfig> local,
            Map<String, Usage> usage,
            Map<String, Long> totals) {
        PrometheusText text = new PrometheusText(out());
        text.metric(
                "granary_build_info",
                "gauge",
                "the version of Granary",
                Map.of(PrometheusText.labels("version", GranaryConfig.VERSION), 1));
        local.ifPresent(config -> text.metric(
                "granary_capacity_bytes",
                "gauge",
                "the capacity of the local tier",
                Map.of("", config.capacityBytes())));
        Map<String, Long> entries = new LinkedHashMap<>();
        Map<String, Long> bytes = new LinkedHashMap<>();
        usage.forEach((target, count) -> {
            String tier = local.isPresent() ? "local" : place;
            String labels = PrometheusText.labels("tier", tier, "target", target);
            entries.put(labels, count.entries());
            bytes.put(labels, count.bytes());
        });
        text.metric("granary_entries", "gauge", "entries in the tier, by target", entries);
        text.metric(
                "granary_entries_bytes", "gauge", "the length of the entries, by target", bytes);
        text.counters(totals);
        out().flush();
    }

    /** Returns the entries by target, those beyond the first {@value #MAX_TARGETS} together. */
    static Map<String, Usage> usage(EntryCatalog catalog, PrintWriter err) throws IOException {
        Map<String, Usage> usage = new TreeMap<>();
        try (ProgressLine progress = new ProgressLine(err, "counting", 0)) {
            Consumer<EntryCatalog.Listed> visitor = entry -> {
                Usage sum = add(entry.namespace(), new Usage(1, entry.bytes(), 0), usage);
                progress.passing(Units.plural(sum.entries(), "entry") + " of " + entry.namespace());
            };
            if (catalog instanceof BucketTier bucket) {
                bucket.list(
                        visitor,
                        (namespace, nanos) -> add(
                                namespace,
                                new Usage(0, 0, TimeUnit.NANOSECONDS.toMillis(nanos)),
                                usage));
            } else {
                catalog.list(visitor);
            }
        }
        return usage;
    }

    private static Usage add(String namespace, Usage more, Map<String, Usage> usage) {
        String name =
                usage.containsKey(namespace) || usage.size() < MAX_TARGETS ? namespace : OTHERS;
        Usage sum = usage.getOrDefault(name, Usage.NONE).plus(more);
        usage.put(name, sum);
        return sum;
    }

    private void add(Map<String, Usage> usage, EntryCatalog catalog, Report report) {
        Usage all = Usage.sum(usage);
        report.field("entries", all.entries()).field("size:bytes", Report.bytes(all.bytes()));
        if (catalog instanceof BucketTier bucket) {
            addUse(usage, bucket, report);
            return;
        }
        ReportTable targets = report.table("targets", "target", "entries", "size:bytes");
        usage.forEach((target, count) ->
                targets.row(target, count.entries(), Report.bytes(count.bytes())));
    }

    /** Adds the targets of a bucket, with their use by the fleet as far as it is noted. */
    private void addUse(Map<String, Usage> usage, BucketTier bucket, Report report) {
        FleetUse fleet = new FleetUse();
        try {
            fleet = FleetUse.read(bucket.useNotes(), days);
            report.field("nodes", fleet.all.nodes())
                    .field("saved:savedMillis", FleetUse.time(fleet.all.savedMillis()));
        } catch (IOException e) {
            report.problem(String.valueOf(e.getMessage()));
        }
        report.line("");
        fleet.addTargets(usage, report);
    }

    private void add(
            GranaryConfig config, Map<String, Long> totals, boolean isUnused, Report report) {
        report.line("");
        if (totals.isEmpty() && isUnused) {
            report.line("No process has used " + config.directory() + " yet.");
        } else if (totals.isEmpty()) {
            report.line("There are no counters in " + config.directory() + " yet:")
                    .line("a process adds its counters when it ends, but not when it is killed.");
        } else {
            report.line("All processes that used " + config.directory() + ":");
            ReportTable counters = report.table("", "counter", "count");
            totals.forEach(counters::row);
            report.line("");
        }
        report.data("counters", totals);
        addTiers(totals, report);
        addClaims(totals, report);
        if (isReset) {
            report.line("").line("All counters are 0 now.");
        }
    }

    /** Adds the hit rate and the mean time of a lookup for each tier. */
    private static void addTiers(Map<String, Long> totals, Report report) {
        if (totals.isEmpty()) {
            return;
        }
        ReportTable tiers = report.table(
                "tiers", "tier", "lookups", "hits", "hit rate", "mean time:meanMillis");
        ToLongFunction<Counter> count = counter -> totals.getOrDefault(counter.label(), 0L);
        long memoryHits = count.applyAsLong(Counter.PROGRAM_HITS);
        long inMemory = memoryHits + count.applyAsLong(Counter.PROGRAM_MISSES);
        tiers.row("memory", inMemory, memoryHits, rate(memoryHits, inMemory), Optional.empty());
        Map<String, List<Counter>> stores = new LinkedHashMap<>();
        stores.put("local", List.of(Counter.LOCAL_LOOKUPS, Counter.LOCAL_HITS, Counter.LOCAL_TIME));
        stores.put(
                "buckets", List.of(Counter.LAYER_LOOKUPS, Counter.LAYER_HITS, Counter.LAYER_TIME));
        stores.forEach((tier, counters) -> {
            long all = count.applyAsLong(counters.get(0));
            long hits = count.applyAsLong(counters.get(1));
            double millis = count.applyAsLong(counters.get(2)) / MICROS_PER_MILLI;
            tiers.row(tier, all, hits, rate(hits, all), mean(millis, all));
        });
        long compiled = count.applyAsLong(Counter.COMPILED);
        double millis = count.applyAsLong(Counter.COMPILE_TIME);
        tiers.row("compiler", compiled, Optional.empty(), Optional.empty(), mean(millis, compiled));
    }

    /** Adds the claims between machines, if a process had a layer for them. */
    private static void addClaims(Map<String, Long> totals, Report report) {
        Map<String, Long> claims = new LinkedHashMap<>();
        claims.put("won", totals.getOrDefault(Counter.FLEET_CLAIMS.label(), 0L));
        claims.put("waited", totals.getOrDefault(Counter.FLEET_WAITS.label(), 0L));
        claims.put("expired", totals.getOrDefault(Counter.FLEET_WAIT_EXPIRED.label(), 0L));
        claims.put("takeovers", totals.getOrDefault(Counter.FLEET_TAKEOVERS.label(), 0L));
        report.data("claims", claims);
        if (claims.values().stream().anyMatch(count -> count > 0)) {
            report.line("")
                    .text(
                            "claims",
                            Units.count(claims.get("won")) + " won; "
                                    + Units.plural(claims.get("waited"), "wait") + ", "
                                    + Units.count(claims.get("expired")) + " expired; "
                                    + Units.plural(claims.get("takeovers"), "takeover"));
        }
    }

    /** Returns the share of hits; counters of older versions may have more hits than lookups. */
    private static Optional<Report.Shown> rate(long hits, long lookups) {
        double rate = (double) hits / lookups;
        return lookups == 0 || hits > lookups
                ? Optional.empty()
                : Optional.of(
                        new Report.Shown(rate, String.format(Locale.ROOT, "%.1f %%", rate * 100)));
    }

    private static Optional<Report.Shown> mean(double millis, long count) {
        double mean = millis / count;
        return count == 0
                ? Optional.empty()
                : Optional.of(new Report.Shown(
                        mean,
                        mean < 1
                                ? String.format(Locale.ROOT, "%.3f ms", mean)
                                : Units.millis(mean)));
    }
}
