package dev.granary.cli;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.option.SelectionOptions;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.EntryFormatter;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.admin.TierInventory;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.LocalTier;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code granary evict}: removes chosen entries from the local tier. */
@Command(name = "evict", mixinStandardHelpOptions = true,
        description = "Remove the chosen entries from the local tier; at least one of --to, --target, --older-than and --id chooses.")
final class EvictCommand extends LocalTierCommand {
    @Mixin
    private SelectionOptions selection = new SelectionOptions();

    @Option(names = "--to", paramLabel = "SIZE",
            description = "of these, the least recently used leave until at most so much remains: 500MiB, 2GiB, a number of MiB, 0")
    private @Nullable String to;

    @Option(names = "--dry-run", description = "remove nothing; list what would go")
    private boolean isDry;

    @Override
    void check() throws UsageException {
        selection.check();
        remaining();
        if (to == null && !selection.isGiven()) {
            throw new UsageException(
                    "evict needs to know what: give --to, --target, --older-than or --id; granary clear removes everything");
        }
    }

    @Override
    String failure() {
        return "entries cannot be evicted";
    }

    @Override
    int run(LocalTier tier, GranaryConfig config) throws Exception {
        List<EntryCatalog.Listed> all = TierInventory.entries(tier);
        List<EntryCatalog.Listed> leaving = leaving(selection.from(all, Instant.now()), remaining());
        List<EntryCatalog.Listed> gone = isDry ? leaving : remove(tier, leaving);
        if (!gone.isEmpty() && !isDry) {
            tier.reclaim();
        }
        long keptBytes = EntryFormatter.bytes(all) - EntryFormatter.bytes(gone);
        if (isJson()) {
            JsonOutput.print(out(), JsonOutput.object("directory", config.directory(), "dryRun", isDry, "entries", EntryFormatter.json(gone),
                    "bytes", EntryFormatter.bytes(gone), "keptEntries", all.size() - gone.size(), "keptBytes", keptBytes));
            return 0;
        }
        if (isDry) {
            EntryFormatter.print(out(), leaving, Map.of());
        }
        out().println(EntryFormatter.inSentence(gone) + (isDry ? " would go, " : " removed, ")
                + EntryFormatter.inSentence(all.size() - (long) gone.size(), keptBytes) + (isDry ? " would stay" : " stay"));
        if (gone.size() < leaving.size()) {
            out().println(Units.plural(leaving.size() - (long) gone.size(), "entry") + " stayed: used or replaced meanwhile");
        }
        out().flush();
        return 0;
    }

    /** Of entries that come most recently used first, those that do not fit; the oldest first. */
    private static List<EntryCatalog.Listed> leaving(List<EntryCatalog.Listed> selected, long remaining) {
        long excess = EntryFormatter.bytes(selected) - remaining;
        List<EntryCatalog.Listed> leaving = new ArrayList<>();
        for (EntryCatalog.Listed oldest : selected.reversed()) {
            if (excess <= 0) {
                break;
            }
            leaving.add(oldest);
            excess -= oldest.bytes();
        }
        return leaving;
    }

    private List<EntryCatalog.Listed> remove(LocalTier tier, List<EntryCatalog.Listed> leaving) {
        List<EntryCatalog.Listed> gone = new ArrayList<>();
        try (ProgressLine progress = new ProgressLine(err(), "evicting", leaving.size())) {
            for (int i = 0; i < leaving.size(); i++) {
                showing(progress, leaving).accept(i);
                if (tier.remove(leaving.get(i))) {
                    gone.add(leaving.get(i));
                }
            }
        }
        return gone;
    }

    private long remaining() throws UsageException {
        if (to == null || to.strip().equals("0")) {
            return 0;
        }
        try {
            return GranaryConfig.size(to, "--to");
        } catch (ConfigException e) {
            throw new UsageException(String.valueOf(e.getMessage()));
        }
    }
}
