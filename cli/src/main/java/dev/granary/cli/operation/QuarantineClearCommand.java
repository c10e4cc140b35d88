package dev.granary.cli.operation;

import dev.granary.cache.Sha256;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.admin.QuarantineInventory;
import dev.granary.coordinator.admin.QuarantineInventory.QuarantinedEntry;
import dev.granary.coordinator.admin.SharedQuarantine;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.LocalTier;
import dev.granary.s3.quarantine.QuarantineReports;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;

/** {@code granary quarantine clear}: ends the quarantine of entries, or withdraws reports. */
@Command(
        name = "clear",
        mixinStandardHelpOptions = true,
        description = {
            "End the quarantine of entries and plans: processes that start later try them again."
                    + " With --tier bucket, withdraw reports instead."
        })
final class QuarantineClearCommand extends QuarantineTierCommand {
    @Mixin
    private QuarantineIds ids = new QuarantineIds();

    @Override
    void check() throws UsageException {
        ids.parse();
    }

    @Override
    String failureMessage() {
        return "the quarantine cannot be changed";
    }

    @Override
    void run(QuarantineInventory inventory, LocalTier local, GranaryConfig config)
            throws IOException, CommandFailedException {
        List<QuarantinedEntry> entries = inventory.entries();
        List<QuarantinedEntry> plans = inventory.plans();
        List<Sha256> all = Stream.concat(entries.stream(), plans.stream())
                .map(QuarantinedEntry::id)
                .toList();
        ids.requireIn(all, "no entry in quarantine");
        int cleared = clear(inventory, entries);
        int clearedPlans = clear(inventory, plans);
        int kept = inventory.entries().size();
        int keptPlans = inventory.plans().size();
        if (isJson()) {
            JsonOutput.print(
                    out(),
                    JsonOutput.object(
                            "directory", config.directory(),
                            "cleared", cleared + clearedPlans,
                            "kept", kept + keptPlans));
        } else {
            out().println(config.directory());
            out().println(count(cleared, clearedPlans) + " allowed again, " + count(kept, keptPlans)
                    + " in quarantine");
        }
    }

    private int clear(QuarantineInventory inventory, List<QuarantinedEntry> entries)
            throws IOException {
        int cleared = 0;
        for (QuarantinedEntry entry : entries) {
            if (ids.isSelected(entry.id()) && inventory.remove(entry)) {
                cleared++;
            }
        }
        return cleared;
    }

    @Override
    void run(SharedQuarantine shared) throws IOException, CommandFailedException {
        List<QuarantineReports.Listed> reports = shared.reports();
        ids.requireIn(
                reports.stream().map(listed -> listed.report().id()).toList(),
                "no report in " + shared.name());
        int cleared = 0;
        for (QuarantineReports.Listed listed : reports) {
            if (ids.isSelected(listed.report().id())) {
                shared.withdraw(listed);
                cleared++;
            }
        }
        int remaining = reports.size() - cleared;
        if (isJson()) {
            JsonOutput.print(
                    out(),
                    JsonOutput.object(
                            "bucket", shared.name(), "cleared", cleared, "kept", remaining));
        } else {
            out().println(shared.name());
            out().println(Units.plural(cleared, "report") + " withdrawn, "
                    + Units.plural(remaining, "report") + " left");
        }
    }
}
