package dev.granary.cli.entry;

import dev.granary.cache.EntryCatalog;
import dev.granary.cache.EntryCatalog.Listed;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.PrometheusText;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
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
@Command(description = "Show what a place contains and, for a directory, what the cache has saved.")
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
    protected boolean run(Report report) throws Exception {
        if ((isPrometheus && isJson()) || (format == Format.GITHUB && (isPrometheus || isJson()))) {
            throw new ConfigException(
                    "--format, --prometheus and --json exclude each other; give one");
        }
        requireDays(days);
        if (format == Format.GITHUB) {
            report.markdown();
        }
        if (!isFleet) {
            showPlace(report);
            return true;
        }
        if (isPrometheus || isReset) {
            throw new ConfigException("--prometheus and --reset have no effect on --fleet");
        }
        try (BucketTier bucket = place.openBucket()) {
            FleetUse use = FleetUse.read(bucket.useNotes(), days);
            use.add(days, report.field("place", bucket.config().location()));
        }
        return true;
    }

    static void requireDays(int days) throws ConfigException {
        if (days < 1 || days > MAX_DAYS) {
            throw new ConfigException("--days must be a number from 1 to " + MAX_DAYS);
        }
    }

    private void showPlace(Report report) throws Exception {
        try (Place inventory = place.open()) {
            Optional<GranaryConfig> local = place.config();
            if (isReset && local.isEmpty()) {
                throw new ConfigException(
                        "--reset has no effect on " + inventory.name + ": it has no counters");
            }
            Map<String, Usage> usage = usage(inventory.catalog, err());
            Map<String, Long> totals = local.isPresent() ? totals(local.get()) : Map.of();
            if (isPrometheus) {
                printMetrics(inventory.name, local, usage, totals);
                return;
            }
            report.field("place", inventory.name);
            local.ifPresent(config ->
                    report.field("capacity:capacityBytes", Report.bytes(config.capacityBytes())));
            add(usage, inventory.catalog, report);
            local.ifPresent(config -> add(config, totals, usage.isEmpty(), report));
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
            Consumer<Listed> visitor = entry -> {
                Usage sum = add(entry.namespace(), new Usage(1, entry.bytes(), 0), usage);
                progress.passing(
                        () -> Units.plural(sum.entries(), "entry") + " of " + entry.namespace());
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
        report.table("targets", usage.entrySet())
                .column("target", Map.Entry::getKey)
                .column("entries", each -> each.getValue().entries())
                .column("size:bytes", each -> Report.bytes(each.getValue().bytes()));
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
            report.table("", totals.entrySet())
                    .column("counter", Map.Entry::getKey)
                    .column("count", Map.Entry::getValue);
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
        ToLongFunction<Counter> count = counter -> totals.getOrDefault(counter.label(), 0L);
        long memoryHits = count.applyAsLong(Counter.PROGRAM_HITS);
        List<Tier> tiers = List.of(
                new Tier(
                        "memory",
                        memoryHits + count.applyAsLong(Counter.PROGRAM_MISSES),
                        Optional.of(memoryHits),
                        Optional.empty()),
                new Tier(
                        "local",
                        count.applyAsLong(Counter.LOCAL_LOOKUPS),
                        Optional.of(count.applyAsLong(Counter.LOCAL_HITS)),
                        Optional.of(count.applyAsLong(Counter.LOCAL_TIME) / MICROS_PER_MILLI)),
                new Tier(
                        "buckets",
                        count.applyAsLong(Counter.LAYER_LOOKUPS),
                        Optional.of(count.applyAsLong(Counter.LAYER_HITS)),
                        Optional.of(count.applyAsLong(Counter.LAYER_TIME) / MICROS_PER_MILLI)),
                new Tier(
                        "compiler",
                        count.applyAsLong(Counter.COMPILED),
                        Optional.empty(),
                        Optional.of((double) count.applyAsLong(Counter.COMPILE_TIME))));
        report.table("tiers", tiers)
                .column("tier", Tier::name)
                .column("lookups", Tier::lookups)
                .column("hits", Tier::hits)
                .column("hit rate", Tier::rate)
                .column("mean time:meanMillis", Tier::mean);
    }

    /** The lookups of a tier, with their hits, and the time of all in milliseconds. */
    private record Tier(String name, long lookups, Optional<Long> hits, Optional<Double> millis) {
        /** Returns the share of hits; counters of older versions may have more than lookups. */
        Optional<Report.Shown> rate() {
            return hits.filter(count -> lookups > 0 && count <= lookups)
                    .map(count -> FleetUse.percent((double) count / lookups));
        }

        Optional<Report.Shown> mean() {
            return millis.filter(_ -> lookups > 0)
                    .map(all -> all / lookups)
                    .map(mean -> new Report.Shown(
                            mean,
                            mean < 1
                                    ? String.format(Locale.ROOT, "%.3f ms", mean)
                                    : Units.millis(mean)));
        }
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
}
