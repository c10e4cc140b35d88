package dev.granary.cli.entry;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.command.LocalTierCommand;
import dev.granary.cli.option.SelectionOptions;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.EntryFormatter;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.Place;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.LocalTier;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** {@code granary evict}: removes selected entries from the local tier. */
@Command(
        name = "evict",
        mixinStandardHelpOptions = true,
        description = "Remove the selected entries from the local tier; needs at least one of --to,"
                + " --target, --older-than and --id.")
public final class EvictCommand extends LocalTierCommand {
    @Mixin
    private SelectionOptions selection = new SelectionOptions();

    @Option(
            names = "--to",
            paramLabel = "SIZE",
            description =
                    "of the selected, remove the least recently used until at most this remains:"
                            + " 500MiB, 2GiB, a number of MiB, 0")
    private @Nullable String to;

    @Option(names = "--dry-run", description = "remove nothing; list what would be removed")
    private boolean isDry;

    @Override
    protected void check() throws UsageException {
        selection.check();
        remaining();
        if (to == null && !selection.isGiven()) {
            throw new UsageException(
                    "evict needs a selection: give --to, --target, --older-than or --id; granary"
                            + " clear removes everything");
        }
    }

    @Override
    protected String failureMessage() {
        return "entries cannot be evicted";
    }

    @Override
    protected int run(LocalTier tier, GranaryConfig config) throws Exception {
        List<EntryCatalog.Listed> all = Place.entries(tier);
        List<EntryCatalog.Listed> victims =
                victims(selection.from(all, Instant.now()), remaining());
        List<EntryCatalog.Listed> removed = isDry ? victims : remove(tier, victims);
        long remainingBytes = EntryFormatter.bytes(all) - EntryFormatter.bytes(removed);
        if (isJson()) {
            JsonOutput.print(
                    out(),
                    JsonOutput.object(
                            "directory",
                            config.directory(),
                            "dryRun",
                            isDry,
                            "entries",
                            EntryFormatter.json(removed),
                            "bytes",
                            EntryFormatter.bytes(removed),
                            "keptEntries",
                            all.size() - removed.size(),
                            "keptBytes",
                            remainingBytes));
            return exitCode(tier);
        }
        if (isDry) {
            EntryFormatter.print(out(), victims, Map.of());
        }
        out().println(EntryFormatter.inSentence(removed)
                + (isDry ? " would be removed, " : " removed, ")
                + EntryFormatter.inSentence(all.size() - (long) removed.size(), remainingBytes)
                + (isDry ? " would remain" : " remain"));
        if (removed.size() < victims.size()) {
            out().println(Units.plural(victims.size() - (long) removed.size(), "entry")
                    + " kept: used or replaced meanwhile, or not removable");
        }
        out().flush();
        return exitCode(tier);
    }

    /** Returns 1 if entries could not be removed; the log has the reason. */
    private static int exitCode(LocalTier tier) {
        return tier.statistics().inputOutputErrors() == 0 ? 0 : 1;
    }

    /**
     * Returns the entries to remove, oldest first, so that the others fit.
     *
     * @param selected entries, the most recently used first
     * @param remaining the bytes that may remain
     */
    private static List<EntryCatalog.Listed> victims(
            List<EntryCatalog.Listed> selected, long remaining) {
        long excess = EntryFormatter.bytes(selected) - remaining;
        List<EntryCatalog.Listed> victims = new ArrayList<>();
        for (EntryCatalog.Listed oldest : selected.reversed()) {
            if (excess <= 0) {
                break;
            }
            victims.add(oldest);
            excess -= oldest.bytes();
        }
        return victims;
    }

    private List<EntryCatalog.Listed> remove(LocalTier tier, List<EntryCatalog.Listed> victims) {
        List<EntryCatalog.Listed> removed = new ArrayList<>();
        try (ProgressLine progress = new ProgressLine(err(), "evicting", victims.size())) {
            for (int i = 0; i < victims.size(); i++) {
                progressOf(progress, victims).accept(i);
                if (tier.remove(victims.get(i))) {
                    removed.add(victims.get(i));
                }
            }
        }
        return removed;
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
