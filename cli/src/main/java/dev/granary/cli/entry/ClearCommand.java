package dev.granary.cli.entry;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.command.LocalTierCommand;
import dev.granary.cli.output.EntryFormatter;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.place.Place;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.LocalTier;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.util.List;

/** {@code granary clear}: removes every entry of the local tier. */
@Command(
        name = "clear",
        mixinStandardHelpOptions = true,
        description = "Remove all entries of the local tier; without --yes, only report how many.")
public final class ClearCommand extends LocalTierCommand {
    @Option(names = "--yes", description = "remove them")
    private boolean isConfirmed;

    @Override
    protected String failureMessage() {
        return "the local directory cannot be cleared";
    }

    @Override
    protected int run(LocalTier tier, GranaryConfig config) throws Exception {
        List<EntryCatalog.Listed> before = Place.entries(tier);
        if (isConfirmed) {
            tier.clear();
        }
        List<EntryCatalog.Listed> after = isConfirmed ? Place.entries(tier) : before;
        if (isJson()) {
            JsonOutput.print(
                    out(),
                    JsonOutput.object(
                            "directory",
                            config.directory(),
                            "dryRun",
                            !isConfirmed,
                            "entries",
                            before.size(),
                            "bytes",
                            EntryFormatter.bytes(before),
                            "keptEntries",
                            after.size(),
                            "keptBytes",
                            EntryFormatter.bytes(after)));
        } else {
            out().println(config.directory());
            if (isConfirmed) {
                long removed = before.size() - (long) after.size();
                long bytes = EntryFormatter.bytes(before) - EntryFormatter.bytes(after);
                out().println(EntryFormatter.inSentence(removed, bytes) + " removed");
            } else {
                out().println(EntryFormatter.inSentence(before)
                        + " would be removed; granary clear --yes removes them");
            }
            if (isConfirmed && !after.isEmpty()) {
                out().println(EntryFormatter.inSentence(after)
                        + " remain: they are new, or cannot be removed");
            }
        }
        out().flush();
        return tier.statistics().inputOutputErrors() == 0 ? 0 : 1;
    }
}
