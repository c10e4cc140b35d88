package dev.granary.cli.entry;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.command.OutputCommand;
import dev.granary.cli.option.BucketOptions;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.SelectionOptions;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.EntryFormatter;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.EntryCopier;
import dev.granary.cli.place.Place;
import dev.granary.cli.place.Places;
import dev.granary.coordinator.config.ConfigException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/** {@code granary copy}: copies the entries of one place that another lacks. */
@Command(
        name = "copy",
        mixinStandardHelpOptions = true,
        description =
                "Copy the entries of FROM that TO lacks. Each is a bucket, or a directory in the"
                        + " form of a local directory. Entries are verified; those that fail are"
                        + " reported. They are programs that will run: copy only from people you"
                        + " trust.")
public final class CopyCommand extends OutputCommand {
    @Parameters(index = "0", paramLabel = "FROM", description = "a directory or s3://NAME/PREFIX")
    private String source = "";

    @Parameters(
            index = "1",
            paramLabel = "TO",
            description = "a directory, which need not exist, or s3://NAME/PREFIX")
    private String destination = "";

    @Mixin
    private BucketOptions buckets = new BucketOptions();

    @Mixin
    private SelectionOptions selection = new SelectionOptions();

    @Override
    public Integer call() throws ConfigException, UsageException, CommandFailedException {
        selection.check();
        try (Place from = Places.source(source, buckets.builder());
                Place to = Places.destination(destination, buckets.builder())) {
            if (from.name().equals(to.name())) {
                throw new UsageException("FROM and TO are the same place: " + from.name());
            }
            List<EntryCatalog.Listed> entries = list(from, to);
            if (entries.isEmpty()) {
                throw new CommandFailedException(from.name()
                        + (selection.isGiven()
                                ? " has no entries that were selected to copy"
                                : " has no entries to copy"));
            }
            EntryCopier copier = copy(from, to, entries);
            print(from, to, entries.size(), copier);
            return copier.failures().isEmpty() ? 0 : 1;
        } catch (IOException e) {
            throw new CommandFailedException("the entries cannot be listed: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommandFailedException("interrupted; the entries copied so far are complete");
        }
    }

    private List<EntryCatalog.Listed> list(Place from, Place to)
            throws IOException, UsageException {
        try (ProgressLine progress = progress("listing", from, to)) {
            progress.passing(from.name());
            List<EntryCatalog.Listed> entries =
                    selection.from(Place.entries(from.catalog()), Instant.now());
            progress.passing(to.name());
            to.prepare();
            return entries;
        }
    }

    private EntryCopier copy(Place from, Place to, List<EntryCatalog.Listed> entries)
            throws InterruptedException {
        try (ProgressLine progress = progress("copying", from, to)) {
            EntryCopier copier = EntryCopier.into(
                    to,
                    counters -> progress.passing(Units.count(counters.done()) + " of "
                            + Units.plural(entries.size(), "entry")));
            copier.copy(entries, from, to);
            return copier;
        }
    }

    private ProgressLine progress(String work, Place from, Place to) {
        return new ProgressLine(err(), work, 0)
                .watching(() -> from.waits().longest().or(to.waits()::longest));
    }

    private void print(Place from, Place to, long selected, EntryCopier copier) {
        Map<String, EntryCopier.Failures> failures = copier.failures();
        if (isJson()) {
            JsonOutput.print(
                    out(),
                    JsonOutput.object(
                            "from",
                            from.name(),
                            "to",
                            to.name(),
                            "selected",
                            selected,
                            "copied",
                            copier.copied(),
                            "copiedBytes",
                            copier.copiedBytes(),
                            "present",
                            copier.present(),
                            "otherVersion",
                            copier.otherVersions(),
                            "failed",
                            copier.failed(),
                            "failures",
                            EntryFormatter.json(failures)));
            return;
        }
        out().println("from " + from.name());
        out().println("to   " + to.name());
        TextTable table = new TextTable("entries", "count", "bytes");
        table.row("copied", Units.count(copier.copied()), Units.bytes(copier.copiedBytes()));
        table.row("there already", Units.count(copier.present()), "");
        if (copier.otherVersions() > 0) {
            table.row("of other versions", Units.count(copier.otherVersions()), "");
        }
        table.row("failed", Units.count(copier.failed()), "");
        table.print(out());
        EntryFormatter.print(out(), failures);
        out().flush();
    }
}
