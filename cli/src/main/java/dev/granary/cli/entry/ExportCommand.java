package dev.granary.cli.entry;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.command.LocalTierCommand;
import dev.granary.cli.option.SelectionOptions;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.EntryFormatter;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.admin.TierInventory;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.transfer.EntryExporter;
import dev.granary.coordinator.transfer.TreeException;
import dev.granary.coordinator.transfer.TreeWriter;
import dev.granary.local.LocalTier;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.SplittableRandom;

/** {@code granary export}: writes entries of the local tier as a tree of plain files. */
@Command(
        name = "export",
        mixinStandardHelpOptions = true,
        description =
                "Write the entries of the local tier to DIR as plain files: key.bin, kernel.bin"
                        + " and about.txt for each.")
public final class ExportCommand extends LocalTierCommand {
    @Parameters(
            paramLabel = "DIR",
            description = "a new or empty directory, or an earlier export, which is completed")
    private Path directory = Path.of("");

    @Mixin
    private SelectionOptions selection = new SelectionOptions();

    @Option(names = "--dry-run", description = "write nothing; only report what would be written")
    private boolean isDry;

    @Override
    protected void check() throws UsageException {
        selection.check();
    }

    @Override
    protected String failureMessage() {
        return "the export to " + directory
                + " failed; the entries written so far are complete, and another export adds the"
                + " others";
    }

    @Override
    protected int run(LocalTier tier, GranaryConfig config) throws Exception {
        if (directory.toAbsolutePath().normalize().startsWith(config.directory())) {
            throw new UsageException(
                    directory + " is inside the local directory; choose one outside of "
                            + config.directory());
        }
        List<EntryCatalog.Listed> entries =
                selection.from(TierInventory.entries(tier), Instant.now());
        TreeWriter tree = open();
        EntryExporter exporter = new EntryExporter(tree);
        try (ProgressLine progress = new ProgressLine(err(), "exporting", entries.size())) {
            exporter.all(tier, entries, progressOf(progress, entries));
        }
        long bytes = tree.finish();
        if (isJson()) {
            JsonOutput.print(
                    out(),
                    JsonOutput.object(
                            "directory",
                            directory,
                            "dryRun",
                            isDry,
                            "written",
                            exporter.written(),
                            "replaced",
                            exporter.replaced(),
                            "present",
                            exporter.present(),
                            "writtenBytes",
                            exporter.writtenBytes(),
                            "otherVersion",
                            exporter.otherVersion(),
                            "damaged",
                            EntryFormatter.badJson(exporter.bad()),
                            "treeBytes",
                            bytes));
        } else {
            print(exporter, bytes);
        }
        return exporter.bad().isEmpty() ? 0 : 1;
    }

    private TreeWriter open() throws UsageException, IOException {
        try {
            return TreeWriter.into(
                    directory,
                    isDry ? TreeWriter.Mode.DRY_RUN : TreeWriter.Mode.WRITE,
                    new SplittableRandom());
        } catch (TreeException e) {
            throw new UsageException(String.valueOf(e.getMessage()));
        }
    }

    private void print(EntryExporter exporter, long bytes) {
        out().println(directory);
        out().println(EntryFormatter.inSentence(
                        exporter.written() + exporter.replaced(), exporter.writtenBytes())
                + (isDry ? " would be written" : " written")
                + (exporter.replaced() > 0
                        ? " (" + Units.count(exporter.replaced()) + " replaced others)"
                        : "")
                + ", " + Units.count(exporter.present()) + " there already"
                + (isDry ? "" : ", " + Units.bytes(bytes) + " in all"));
        if (exporter.otherVersion() > 0) {
            out().println(Units.plural(exporter.otherVersion(), "entry")
                    + " of another version of Granary skipped");
        }
        if (!exporter.bad().isEmpty()) {
            out().println();
            EntryFormatter.print(out(), exporter.bad());
            out().println();
            out().println(Units.plural(exporter.bad().size(), "entry")
                    + " could not be exported; granary verify --repair removes damage");
        }
        out().flush();
    }
}
