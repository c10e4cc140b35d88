package dev.granary.cli.operation;

import dev.granary.cli.command.LocalTierCommand;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.IdPrefixConverter;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.Units;
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

/** {@code granary quarantine clear}: ends the quarantine of entries. */
@Command(
        name = "clear",
        mixinStandardHelpOptions = true,
        description = {
            "End the quarantine of entries: processes that start later try to restore them again."
        })
final class QuarantineClearCommand extends LocalTierCommand {
    @Parameters(
            paramLabel = "ID",
            arity = "0..*",
            description = "ids or their first digits; without any, the whole quarantine ends")
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
        int cleared = 0;
        int remaining;
        try (QuarantineInventory inventory =
                QuarantineInventory.open(tier.directory(), InstantSource.system())) {
            List<QuarantinedEntry> entries = inventory.entries();
            for (String prefix : prefixes) {
                if (entries.stream().noneMatch(entry -> entry.id().hex().startsWith(prefix))) {
                    throw new CommandFailedException(
                            "no entry in quarantine has an id that begins with " + prefix);
                }
            }
            for (QuarantinedEntry entry : entries) {
                if (isSelected(entry) && inventory.remove(entry)) {
                    cleared++;
                }
            }
            remaining = inventory.entries().size();
        }
        if (isJson()) {
            JsonOutput.print(
                    out(),
                    JsonOutput.object(
                            "directory", config.directory(),
                            "cleared", cleared,
                            "kept", remaining));
        } else {
            out().println(config.directory());
            out().println(Units.plural(cleared, "entry") + " allowed again, "
                    + Units.plural(remaining, "entry") + " in quarantine");
        }
        out().flush();
        return 0;
    }

    private boolean isSelected(QuarantinedEntry entry) {
        return prefixes.isEmpty() || prefixes.stream().anyMatch(entry.id().hex()::startsWith);
    }
}
