package dev.granary.cli.entry;

import dev.granary.cache.EntryCatalog.Listed;
import dev.granary.cache.format.EntrySigner;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.option.StoreOptions;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.ConfigException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.util.List;
import java.util.Optional;

/** {@code granary copy}: copies the entries of one place that another lacks. */
@Command(
        description =
                "Copy the entries of FROM that TO lacks. Each is a bucket, or a directory in the"
                        + " form of a local directory. Entries are verified; those that fail are"
                        + " reported. They are programs that will run: copy only from people you"
                        + " trust.")
public final class CopyCommand extends OutputCommand {
    @Parameters(
            index = "0",
            paramLabel = "FROM",
            description = "a directory, s3://NAME/PREFIX or file:///PATH")
    private String source = "";

    @Parameters(
            index = "1",
            paramLabel = "TO",
            description = "the same; a directory need not exist")
    private String destination = "";

    @Mixin
    private StoreOptions.Buckets buckets = new StoreOptions.Buckets();

    @Mixin
    private SelectionOptions selection = new SelectionOptions();

    @Option(
            names = "--sign",
            description = "sign each entry with GRANARY_SIGNING_KEY, also one that is there: only"
                    + " what you have reviewed")
    private boolean isSigning;

    @Override
    protected boolean run(Report report) throws Exception {
        Optional<EntrySigner> signer = isSigning
                ? buckets.builder(source, destination).build().signer()
                : Optional.empty();
        if (isSigning && signer.isEmpty()) {
            throw new ConfigException("--sign needs a private key in GRANARY_SIGNING_KEY");
        }
        try (Place from = Place.source(source, buckets.builder(source, destination));
                Place to = Place.destination(destination, buckets.builder(source, destination))) {
            if (from.name.equals(to.name)) {
                throw new ConfigException("FROM and TO are the same place: " + from.name);
            }
            EntryCopier copier;
            List<Listed> entries;
            try (ProgressLine progress = new ProgressLine(err(), "copying", 0)) {
                progress.passing(() -> from.name);
                entries = selection.from(Place.entries(from.catalog));
                if (entries.isEmpty()) {
                    throw new CommandFailedException(from.name
                            + (selection.isGiven()
                                    ? " has no entries that were selected to copy"
                                    : " has no entries to copy"));
                }
                progress.passing(() -> to.name);
                to.prepare();
                copier = EntryCopier.into(
                        to,
                        signer,
                        counters -> progress.passing(() -> Units.count(counters.done()) + " of "
                                + Units.plural(entries.size(), "entry")));
                copier.copy(entries, isSigning, from, to);
            }
            report.field("from", from.name).field("to", to.name).data("selected", entries.size());
            Place.add("copied", copier.copied.sum(), copier.copiedBytes.sum(), report)
                    .field("present", copier.present.sum())
                    .count(
                            "otherVersion",
                            copier.otherVersions.sum(),
                            "entry",
                            "of other versions left out")
                    .field("failed", copier.failed.sum());
            copier.addFailures(report);
            return copier.failures.isEmpty();
        }
    }
}
