package dev.granary.cli.operation;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.command.TierCommand;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.TierOption;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.EntryFormatter;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.PrometheusText;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.TierSummary;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.Place;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.machine.Totals;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * {@code granary stats}: the content of a tier, and for the local tier the counters of all
 * processes of this machine.
 */
@Command(
        name = "stats",
        mixinStandardHelpOptions = true,
        description =
                "Show what a tier contains and, for the local tier, what the cache has saved.")
public final class StatsCommand extends TierCommand {
    /**
     * Maximum number of targets that are listed one by one; a foreign bucket may have any number.
     */
    private static final int MAX_TARGETS = 10_000;

    private static final String OTHERS = "(more targets)";

    @Mixin
    private TierOption tier = new TierOption();

    @Option(names = "--prometheus", description = "print metrics in the text format of Prometheus")
    private boolean isPrometheus;

    @Option(
            names = "--reset",
            description = "set the counters of the local directory to 0 after printing them")
    private boolean isReset;

    /** Entries of one namespace. */
    private record Usage(long entries, long bytes) {
        Usage plus(EntryCatalog.Listed entry) {
            return new Usage(entries + 1, EntryFormatter.sumOf(bytes, entry.bytes()));
        }
    }

    @Override
    public Integer call() throws Exception {
        if (isPrometheus && isJson()) {
            throw new UsageException("--prometheus and --json exclude each other; give one");
        }
        if (isReset && !tier.isLocal()) {
            throw new UsageException(
                    "--reset has no effect with --tier bucket: a bucket has no counters");
        }
        PrintWriter out = out();
        try (Place inventory = tier.open(stores())) {
            GranaryConfig config = stores().config();
            Map<String, Usage> usage = usage(inventory);
            Map<String, Long> totals = tier.isLocal() ? totals(config) : Map.of();
            if (isPrometheus) {
                printMetrics(new PrometheusText(out), inventory, config, usage, totals);
                out.flush();
            } else if (isJson()) {
                JsonOutput.print(out, json(inventory, config, usage, totals));
            } else {
                printUsage(out, inventory, config, usage);
                if (tier.isLocal()) {
                    printTotals(out, config, totals, usage);
                    if (isReset) {
                        out.println();
                        out.println("All counters are 0 now.");
                    }
                }
                out.flush();
            }
            return 0;
        } catch (IOException e) {
            throw new CommandFailedException("the statistics cannot be read: " + e.getMessage());
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
            PrometheusText text,
            Place inventory,
            GranaryConfig config,
            Map<String, Usage> usage,
            Map<String, Long> totals) {
        text.family("granary_build_info", "gauge", "the version of Granary");
        text.sample("granary_build_info", 1, "version", GranaryConfig.VERSION);
        if (tier.isLocal()) {
            text.family("granary_capacity_bytes", "gauge", "the capacity of the local tier");
            text.sample("granary_capacity_bytes", config.capacityBytes());
        }
        text.family("granary_entries", "gauge", "entries in the tier, by target");
        usage.forEach((namespace, count) -> text.sample(
                "granary_entries",
                count.entries(),
                "tier",
                tierLabel(inventory),
                "target",
                namespace));
        text.family("granary_entries_bytes", "gauge", "the length of the entries, by target");
        usage.forEach((namespace, count) -> text.sample(
                "granary_entries_bytes",
                count.bytes(),
                "tier",
                tierLabel(inventory),
                "target",
                namespace));
        text.counters(totals);
    }

    private String tierLabel(Place inventory) {
        return tier.isLocal() ? "local" : inventory.name();
    }

    private Map<String, Usage> usage(Place inventory) throws IOException {
        Map<String, Usage> usage = new TreeMap<>();
        try (ProgressLine progress =
                new ProgressLine(err(), "counting", 0).watching(inventory.waits())) {
            inventory.list(entry -> {
                String namespace =
                        usage.containsKey(entry.namespace()) || usage.size() < MAX_TARGETS
                                ? entry.namespace()
                                : OTHERS;
                progress.passing(Units.plural(
                                usage.merge(
                                                namespace,
                                                new Usage(1, entry.bytes()),
                                                (old, _) -> old.plus(entry))
                                        .entries(),
                                "entry")
                        + " of " + namespace);
            });
        }
        return usage;
    }

    private void printUsage(
            PrintWriter out, Place inventory, GranaryConfig config, Map<String, Usage> usage) {
        long bytes =
                usage.values().stream().mapToLong(Usage::bytes).reduce(0, EntryFormatter::sumOf);
        out.println(inventory.name() + ": "
                + Units.plural(usage.values().stream().mapToLong(Usage::entries).sum(), "entry")
                + ", " + Units.bytes(bytes)
                + (tier.isLocal() ? " of " + Units.bytes(config.capacityBytes()) : ""));
        usage.forEach((namespace, count) -> out.println("  " + namespace + ": "
                + Units.plural(count.entries(), "entry") + ", " + Units.bytes(count.bytes())));
    }

    private static void printTotals(
            PrintWriter out,
            GranaryConfig config,
            Map<String, Long> totals,
            Map<String, Usage> usage) {
        out.println();
        if (totals.isEmpty()) {
            if (usage.isEmpty()) {
                out.println("No process has used " + config.directory() + " yet.");
            } else {
                out.println("There are no counters in " + config.directory() + " yet:");
                out.println("a process adds its counters when it ends, but not when it is killed.");
            }
        } else {
            out.println("All processes that used " + config.directory() + ":");
            TextTable table = new TextTable("counter", "count");
            totals.forEach(
                    (name, count) -> table.row(name, String.format(Locale.ROOT, "%,d", count)));
            table.print(out);
            out.println();
            new TierSummary(totals).print(out);
        }
    }

    /**
     * Returns the statistics as JSON. Capacity and counters belong to this machine, not to a
     * bucket.
     */
    private JsonObject json(
            Place inventory,
            GranaryConfig config,
            Map<String, Usage> usage,
            Map<String, Long> totals) {
        JsonArray namespaces = new JsonArray();
        usage.forEach((namespace, count) -> namespaces.add(JsonOutput.object(
                "namespace", namespace, "entries", count.entries(), "bytes", count.bytes())));
        if (!tier.isLocal()) {
            return JsonOutput.object("tier", inventory.name(), "namespaces", namespaces);
        }
        return JsonOutput.object(
                "tier",
                inventory.name(),
                "capacityBytes",
                config.capacityBytes(),
                "namespaces",
                namespaces,
                "totals",
                JsonOutput.object(totals),
                "tiers",
                new TierSummary(totals).json());
    }
}
