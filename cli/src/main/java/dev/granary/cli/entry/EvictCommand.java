package dev.granary.cli.entry;

import dev.granary.cache.EntryCatalog.Listed;
import dev.granary.cli.option.Converters;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.ConfigException;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.util.ArrayList;
import java.util.List;

/** {@code granary evict}: removes selected entries from a directory. */
@Command(
        description = "Remove entries from a directory: those selected by --to, --target,"
                + " --older-than and --id, or --all.")
public final class EvictCommand extends OutputCommand {
    private static final int MAX_LISTED = 20;

    @Mixin
    private PlaceOptions place = new PlaceOptions();

    @Mixin
    private SelectionOptions selection = new SelectionOptions();

    @Option(
            names = "--to",
            paramLabel = "SIZE",
            converter = Converters.Size.class,
            description =
                    "of the selected, remove the least recently used until at most this remains:"
                            + " 500MiB, 2GiB, a number of MiB, 0")
    private @Nullable Long to;

    @Option(
            names = "--all",
            description = "remove all entries; without --yes, only report how many")
    private boolean isAll;

    @Option(names = "--yes", description = "with --all: remove them")
    private boolean isConfirmed;

    @Option(names = "--dry-run", description = "remove nothing; list what would be removed")
    private boolean isDry;

    @Override
    protected boolean run(Report report) throws Exception {
        boolean isSelecting = to != null || selection.isGiven();
        if (isSelecting == isAll) {
            throw new ConfigException(
                    "evict needs a selection: give --to, --target, --older-than or"
                            + " --id; or --all, alone");
        }
        if (isConfirmed && !isAll) {
            throw new ConfigException("--yes has no effect without --all");
        }
        try (DirectoryPlace from = place.openToRemove("evict works on directories; entries leave a"
                + " bucket by granary compact --without ID")) {
            List<Listed> all = Place.entries(from.files);
            List<Listed> victims = victims(selection.from(all));
            boolean isRemoving = !isDry && (!isAll || isConfirmed);
            report.field("place", from.name);
            List<Listed> removed = isRemoving ? remove(from, victims, report) : victims;
            long bytes = Place.bytes(removed);
            long kept = all.size() - (long) removed.size();
            long keptBytes = Place.bytes(all) - bytes;
            LsCommand.add(removed, report).limit(isDry ? Integer.MAX_VALUE : MAX_LISTED);
            report.data("dryRun", !isRemoving)
                    .data("removedEntries", removed.size())
                    .data("removedBytes", bytes)
                    .data("keptEntries", kept)
                    .data("keptBytes", keptBytes)
                    .line(Units.entries(removed.size(), bytes)
                            + (isRemoving ? " removed, " : " would be removed, ")
                            + Units.entries(kept, keptBytes)
                            + (isRemoving ? " remain" : " would remain"));
            if (removed.size() < victims.size()) {
                report.line(Units.plural(victims.size() - (long) removed.size(), "entry")
                        + " kept: used or replaced meanwhile, or not removable");
            }
            if (isAll && !isRemoving) {
                report.line("granary evict --all --yes removes them");
            }
            return !report.hasProblems();
        }
    }

    /** Returns the entries to remove, oldest first, so that the others fit. */
    private List<Listed> victims(List<Listed> selected) {
        long excess = Place.bytes(selected) - (to == null ? 0 : to);
        List<Listed> victims = new ArrayList<>();
        for (Listed oldest : selected.reversed()) {
            if (excess <= 0) {
                break;
            }
            victims.add(oldest);
            excess -= oldest.bytes();
        }
        return victims;
    }

    private List<Listed> remove(DirectoryPlace from, List<Listed> victims, Report report) {
        List<Listed> removed = new ArrayList<>();
        List<String> failures = new ArrayList<>();
        try (ProgressLine progress = new ProgressLine(err(), "evicting", victims.size())) {
            for (Listed victim : victims) {
                progress.passing(() -> victim.hash().hex());
                if (from.remove(victim, failures)) {
                    removed.add(victim);
                }
            }
        }
        DirectoryPlace.addFailures(failures, report);
        return removed;
    }
}
