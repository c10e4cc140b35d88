package dev.granary.cli.entry;

import dev.granary.cache.EntryCatalog.Listed;
import dev.granary.cli.kernel.Recompilation;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.local.DirectoryUsage;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** {@code granary verify}: reads and checks the entries of a place. */
@Command(
        description =
                "Read and verify the entries of a directory or a bucket; report damage and foreign"
                        + " files.")
public final class VerifyCommand extends OutputCommand {
    private static final int MAX_LISTED_FILES = 20;

    @Mixin
    private PlaceOptions place = new PlaceOptions();

    @Mixin
    private SelectionOptions selection = new SelectionOptions();

    @Option(
            names = "--repair",
            description = "remove damaged entries; they are compiled again when they are needed")
    private boolean isRepairing;

    @Mixin
    private Recompilation recompilation = new Recompilation();

    @Override
    protected boolean run(Report report) throws Exception {
        if (recompilation.isRequested()) {
            try (Place stored = place.open()) {
                report.field("place", stored.name);
                return recompilation.check(stored.catalog, report, err());
            }
        }
        try (Place from = isRepairing
                ? place.openToRemove("--repair works on directories; in a bucket, publish the"
                        + " kernels again by granary populate")
                : place.open()) {
            EntryCopier read = read(from);
            add(from.name, read, report);
            switch (from) {
                case BucketPlace _ ->
                    report.field("received:receivedBytes", Report.bytes(read.receivedBytes.sum()));
                case DirectoryPlace local -> {
                    add(local.directory, local.files.usage(), report);
                    if (read.failed.sum() > 0) {
                        report.line("There is damage. Damaged entries are never used; --repair"
                                + " removes them.");
                    } else if (read.removed.sum() == 0) {
                        report.line("No damage found.");
                    }
                }
            }
            return read.failed.sum() == 0;
        }
    }

    private EntryCopier read(Place from) throws IOException, InterruptedException {
        try (ProgressLine progress = new ProgressLine(err(), "verifying", 0)) {
            progress.passing(() -> from.name);
            List<Listed> entries = selection.from(Place.entries(from.catalog));
            EntryCopier reader = EntryCopier.ofNone(
                    entry -> isRepairing
                            && from instanceof DirectoryPlace local
                            && local.files.remove(entry),
                    counters -> progress.passing(() ->
                            Units.count(counters.done()) + " of " + Units.count(entries.size())));
            from.read(entries, reader);
            return reader;
        }
    }

    /** Adds the counts, and each entry that is not sound. */
    static void add(String name, EntryCopier read, Report report) {
        report.field("place", name).data("healthy", read.failed.sum() == 0);
        Place.add("sound", read.present.sum(), read.presentBytes.sum(), report)
                .field("failed", read.failed.sum())
                .count("removed", read.removed.sum(), "entry", "removed")
                .count(
                        "otherVersion",
                        read.otherVersions.sum(),
                        "entry",
                        "of other versions, kept for those versions");
        read.addFailures(report);
    }

    /** Adds the files of a directory that are no entries. */
    static void add(Path directory, DirectoryUsage usage, Report report) {
        int files = usage.foreign().size();
        report.field(
                        "unfinished",
                        usage.unfinished(),
                        usage.unfinished() == 0
                                ? "nothing"
                                : Units.plural(usage.unfinished(), "file") + " of "
                                        + Units.bytes(usage.unfinishedBytes())
                                        + "; sweeps remove those older than an hour")
                .data("unfinishedBytes", usage.unfinishedBytes())
                .field(
                        "foreign",
                        usage.foreign(),
                        files == 0
                                ? "nothing"
                                : Units.plural(files, "file")
                                        + (files == DirectoryUsage.NAMED ? " or more" : "")
                                        + ", ignored:");
        usage.foreign().stream()
                .limit(MAX_LISTED_FILES)
                .map(file -> file.startsWith(directory) ? directory.relativize(file) : file)
                .forEach(file -> report.line("  " + file));
    }
}
