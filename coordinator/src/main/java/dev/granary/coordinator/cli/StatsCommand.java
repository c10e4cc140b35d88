package dev.granary.coordinator.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.granary.cache.Catalog;
import dev.granary.coordinator.Inventory;
import dev.granary.coordinator.Totals;
import dev.granary.coordinator.config.GranaryConfig;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code granary stats}: what a tier holds, and what all processes on this machine got out of the cache. */
@Command(name = "stats", mixinStandardHelpOptions = true, description = "Tell what a tier holds and what the cache has saved.")
final class StatsCommand extends StoreCommand {
    @Mixin
    private TierOption tier = new TierOption();

    /** Entries of one namespace. */
    private record Usage(long entries, long bytes) {
        Usage plus(Catalog.Listed entry) {
            return new Usage(entries + 1, bytes + entry.bytes());
        }
    }

    @Override
    public Integer call() throws Exception {
        PrintWriter out = out();
        GranaryConfig config = stores().config();
        try (Inventory inventory = tier.open(config)) {
            Map<String, Usage> usage = usage(inventory.entries());
            Map<String, Long> totals = new Totals(config.directory()).read();
            if (isJson()) {
                Json.print(out, json(inventory, config, usage, totals));
            } else {
                print(out, inventory, config, usage, totals);
            }
            return 0;
        } catch (IOException e) {
            throw new FailedException("the statistics cannot be read: " + e.getMessage());
        }
    }

    private static Map<String, Usage> usage(List<Catalog.Listed> entries) {
        Map<String, Usage> usage = new TreeMap<>();
        entries.forEach(entry -> usage.merge(entry.namespace(), new Usage(1, entry.bytes()), (old, _) -> old.plus(entry)));
        return usage;
    }

    private void print(
            PrintWriter out, Inventory inventory, GranaryConfig config, Map<String, Usage> usage, Map<String, Long> totals) {
        long bytes = usage.values().stream().mapToLong(Usage::bytes).sum();
        out.println(inventory.name() + ": " + Text.plural(usage.values().stream().mapToLong(Usage::entries).sum(), "entry") + ", "
                + Text.bytes(bytes) + (tier.isLocal() ? " of " + Text.bytes(config.capacityBytes()) : ""));
        usage.forEach((namespace, count) ->
                out.println("  " + namespace + ": " + Text.plural(count.entries(), "entry") + ", " + Text.bytes(count.bytes())));
        out.println();
        if (totals.isEmpty()) {
            out.println("No process has used " + config.directory() + " yet.");
        } else {
            out.println("All processes that used " + config.directory() + ":");
            Table table = new Table("counter", "count");
            totals.forEach((name, count) -> table.row(name, String.format(Locale.ROOT, "%,d", count)));
            table.print(out);
        }
        out.flush();
    }

    private static JsonObject json(Inventory inventory, GranaryConfig config, Map<String, Usage> usage, Map<String, Long> totals) {
        JsonArray namespaces = new JsonArray();
        usage.forEach((namespace, count) ->
                namespaces.add(Json.object("namespace", namespace, "entries", count.entries(), "bytes", count.bytes())));
        JsonObject counters = new JsonObject();
        totals.forEach(counters::addProperty);
        return Json.object("tier", inventory.name(), "capacityBytes", config.capacityBytes(), "namespaces", namespaces, "totals", counters);
    }
}
