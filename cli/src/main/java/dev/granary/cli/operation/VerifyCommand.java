package dev.granary.cli.operation;

import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cli.command.OutputCommand;
import dev.granary.cli.option.PlaceOptions;
import dev.granary.cli.option.SelectionOptions;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.EntryCopier;
import dev.granary.cli.place.EntryVerifier;
import dev.granary.cli.place.Place;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.local.DirectoryUsage;
import dev.granary.local.LocalTier;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Predicate;

/** {@code granary verify}: reads and checks the entries of a place. */
@Command(
        name = "verify",
        mixinStandardHelpOptions = true,
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

    @Override
    public Integer call() throws Exception {
        if (!place.isBucket()) {
            GranaryConfig config = place.config();
            try (LocalTier tier = TierFactory.localWithoutEviction(config)) {
                return verify(tier, config.directory());
            }
        }
        if (isRepairing) {
            throw new UsageException("--repair works on directories; in a bucket, publish the"
                    + " kernels again by granary populate");
        }
        try (Place bucket = place.open()) {
            return verify(bucket);
        }
    }

    private int verify(Place bucket) throws IOException, InterruptedException {
        EntryCopier reader;
        try (ProgressLine progress =
                new ProgressLine(err(), "verifying", 0).watching(bucket.waits())) {
            progress.passing(bucket.name());
            List<EntryCatalog.Listed> entries = selection.from(Place.entries(bucket.catalog()));
            reader = EntryCopier.ofNone(counters -> progress.passing(
                    Units.count(counters.done()) + " of " + Units.count(entries.size())));
            bucket.read(entries, reader);
        }
        Report report = report().field("place", bucket.name())
                .data("healthy", reader.failed() == 0)
                .field("sound", reader.present())
                .field("failed", reader.failed())
                .field("received:receivedBytes", Report.bytes(reader.receivedBytes()));
        reader.addFailures(report);
        report.print();
        return reader.failed() == 0 ? 0 : 1;
    }

    private int verify(LocalTier tier, Path directory) throws IOException {
        List<EntryCatalog.Listed> entries = selection.from(Place.entries(tier));
        Predicate<EntryCatalog.Listed> removal = isRepairing ? tier::remove : _ -> false;
        EntryVerifier verifier;
        try (ProgressLine progress = new ProgressLine(err(), "verifying", entries.size())) {
            verifier = EntryVerifier.all(
                    tier,
                    entries,
                    removal,
                    i -> progress.passing(i, entries.get(i).hash().hex()));
        }
        Report report = report();
        add(directory, verifier, tier.usage(), report);
        report.print();
        return verifier.isHealthy() ? 0 : 1;
    }

    /** Adds the result for a directory to a report. */
    static void add(Path directory, EntryVerifier verifier, DirectoryUsage usage, Report report) {
        report.field("place", directory.toString()).data("healthy", verifier.isHealthy());
        verifier.addTo(report);
        int files = usage.foreign().size();
        report.line("")
                .field(
                        "unfinished",
                        new Report.Shown(
                                usage.unfinished(),
                                usage.unfinished() == 0
                                        ? "nothing"
                                        : Units.plural(usage.unfinished(), "file") + " of "
                                                + Units.bytes(usage.unfinishedBytes())
                                                + "; sweeps remove those older than an hour"))
                .data("unfinishedBytes", usage.unfinishedBytes())
                .field(
                        "foreign",
                        new Report.Shown(
                                usage.foreign(),
                                files == 0
                                        ? "nothing"
                                        : Units.plural(files, "file")
                                                + (files == DirectoryUsage.NAMED ? " or more" : "")
                                                + ", ignored:"));
        usage.foreign().stream()
                .limit(MAX_LISTED_FILES)
                .map(file -> file.startsWith(directory) ? directory.relativize(file) : file)
                .forEach(file -> report.line("  " + file));
        report.line("");
        if (verifier.removed().entries() > 0) {
            report.line(Units.entries(
                            verifier.removed().entries(), verifier.removed().bytes())
                    + " removed.");
        }
        if (!verifier.isHealthy()) {
            report.line("There is damage. Damaged entries are never used; --repair removes them.");
        } else if (verifier.removed().entries() == 0) {
            report.line("No damage found.");
        }
        if (verifier.found(EntryVerifier.name(DamageKind.TOO_OLD)).entries()
                        + verifier.found(EntryVerifier.name(DamageKind.TOO_NEW)).entries()
                > 0) {
            report.line("Entries of other versions are kept for those versions.");
        }
    }
}
