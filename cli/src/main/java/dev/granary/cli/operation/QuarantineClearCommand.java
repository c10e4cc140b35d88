package dev.granary.cli.operation;

import dev.granary.cache.Sha256;
import dev.granary.cli.command.LocalTierCommand;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.IdPrefixConverter;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.coordinator.admin.QuarantineInventory;
import dev.granary.coordinator.admin.QuarantineInventory.QuarantinedEntry;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.LocalTier;

import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** {@code granary quarantine clear}: ends the quarantine of entries and plans. */
@Command(
        name = "clear",
        mixinStandardHelpOptions = true,
        description = {
            "End the quarantine of entries and plans: processes that start later try them again."
        })
final class QuarantineClearCommand extends LocalTierCommand {
    @Parameters(
            paramLabel = "ID",
            arity = "0..*",
            description = "ids or their first digits; without any, all are selected")
    private List<String> ids = List.of();

    private final List<String> prefixes = new ArrayList<>();

    @Override
    protected void check() throws UsageException {
        for (String id : ids) {
            prefixes.add(IdPrefixConverter.parse(id));
        }
    }

    @Override
    protected String failureMessage() {
        return "the quarantine cannot be changed";
    }

    @Override
    protected int run(LocalTier tier, GranaryConfig config)
            throws IOException, CommandFailedException {
        try (QuarantineInventory inventory =
                QuarantineInventory.open(tier.directory(), InstantSource.system())) {
            run(inventory, config);
        }
        out().flush();
        return 0;
    }

    private void run(QuarantineInventory inventory, GranaryConfig config)
            throws IOException, CommandFailedException {
        List<QuarantinedEntry> entries = inventory.entries();
        List<QuarantinedEntry> plans = inventory.plans();
        requireIn(Stream.concat(entries.stream(), plans.stream())
                .map(QuarantinedEntry::id)
                .toList());
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
            out().println(QuarantineCommand.count(cleared, clearedPlans) + " allowed again, "
                    + QuarantineCommand.count(kept, keptPlans) + " in quarantine");
        }
    }

    /** Checks that each parameter selects something. */
    private void requireIn(List<Sha256> all) throws CommandFailedException {
        for (String prefix : prefixes) {
            if (all.stream().noneMatch(id -> id.hex().startsWith(prefix))) {
                throw new CommandFailedException(
                        "no entry in quarantine has an id that begins with " + prefix);
            }
        }
    }

    private int clear(QuarantineInventory inventory, List<QuarantinedEntry> entries)
            throws IOException {
        int cleared = 0;
        for (QuarantinedEntry entry : entries) {
            if (isSelected(entry.id()) && inventory.remove(entry)) {
                cleared++;
            }
        }
        return cleared;
    }

    private boolean isSelected(Sha256 id) {
        return prefixes.isEmpty() || prefixes.stream().anyMatch(id.hex()::startsWith);
    }
}
