package dev.granary.cli.operation;

import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonPrimitive;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.command.LocalTierCommand;
import dev.granary.cli.output.EntryFormatter;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.admin.QuarantineInventory;
import dev.granary.coordinator.admin.QuarantineInventory.QuarantinedEntry;
import dev.granary.coordinator.admin.TierInventory;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.LocalTier;

import picocli.CommandLine.Command;

import java.io.IOException;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** {@code granary quarantine list}: lists the entries and plans in quarantine. */
@Command(
        name = "list",
        mixinStandardHelpOptions = true,
        description = {
            "List the entries whose restore ended a process of this machine, and the plans whose"
                    + " trial did. They are not tried for a day."
        })
final class QuarantineListCommand extends LocalTierCommand {
    @Override
    protected String failureMessage() {
        return "the quarantine cannot be read";
    }

    @Override
    protected int run(LocalTier tier, GranaryConfig config) throws IOException {
        try (QuarantineInventory inventory =
                QuarantineInventory.open(tier.directory(), InstantSource.system())) {
            print(inventory, tier, config);
        }
        out().flush();
        return 0;
    }

    private void print(QuarantineInventory inventory, LocalTier local, GranaryConfig config)
            throws IOException {
        List<QuarantinedEntry> entries = inventory.entries();
        List<QuarantinedEntry> plans = inventory.plans();
        Map<String, String> namespaces = namespaces(local);
        if (isJson()) {
            JsonOutput.print(
                    out(),
                    JsonOutput.object(
                            "directory",
                            config.directory(),
                            "quarantine",
                            array(entries, "content", namespaces),
                            "plans",
                            array(plans, "source", namespaces)));
            return;
        }
        out().println(config.directory());
        if (!entries.isEmpty() || !plans.isEmpty()) {
            TextTable table = new TextTable("id", "<until", "<target of the local entry");
            for (QuarantinedEntry entry : entries) {
                table.row(
                        entry.id().hex().substring(0, Units.SHORT_ID),
                        EntryFormatter.minute(entry.end().toEpochMilli()),
                        namespaces.getOrDefault(entry.id().hex(), "-"));
            }
            for (QuarantinedEntry plan : plans) {
                table.row(
                        plan.id().hex().substring(0, Units.SHORT_ID),
                        EntryFormatter.minute(plan.end().toEpochMilli()),
                        "plan " + plan.content().hex().substring(0, Units.SHORT_ID)
                                + " of this tuning");
            }
            table.print(out());
        }
        out().println(QuarantineCommand.count(entries.size(), plans.size())
                + " in quarantine"
                + (entries.isEmpty() && plans.isEmpty()
                        ? ""
                        : "; granary quarantine clear allows them again"));
    }

    private static JsonArray array(
            List<QuarantinedEntry> entries, String content, Map<String, String> namespaces) {
        JsonArray all = new JsonArray();
        for (QuarantinedEntry entry : entries) {
            String namespace = namespaces.get(entry.id().hex());
            all.add(JsonOutput.object(
                    "id",
                    entry.id().hex(),
                    content,
                    entry.content().hex(),
                    "namespace",
                    namespace == null ? JsonNull.INSTANCE : new JsonPrimitive(namespace),
                    "end",
                    entry.end().toString()));
        }
        return all;
    }

    private static Map<String, String> namespaces(LocalTier tier) throws IOException {
        Map<String, String> namespaces = new HashMap<>();
        for (EntryCatalog.Listed listed : TierInventory.entries(tier)) {
            namespaces.put(listed.hash().hex(), listed.namespace());
        }
        return namespaces;
    }
}
