package dev.granary.cli.entry;

import com.google.gson.JsonArray;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cli.command.LocalTierCommand;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.admin.EntryVerifier;
import dev.granary.coordinator.admin.TierInventory;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.stores.LocalTierFactory;
import dev.granary.coordinator.transfer.TreeException;
import dev.granary.coordinator.transfer.TreeReader;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.local.LocalTier;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** {@code granary import}: reads a tree of plain files back into the local tier. */
@Command(
        name = "import",
        mixinStandardHelpOptions = true,
        description =
                "Read a tree that granary export wrote into the local tier, up to its capacity."
                        + " Its programs will run here: import only from people you trust.")
public final class ImportCommand extends LocalTierCommand {
    private static final int MAX_LISTED = 20;

    @Parameters(paramLabel = "DIR", description = "the exported tree")
    private Path directory = Path.of("");

    @Option(names = "--dry-run", description = "verify the tree and store nothing")
    private boolean isDry;

    @Override
    protected String failureMessage() {
        return directory + " cannot be imported";
    }

    @Override
    protected LocalTier open(GranaryConfig config) throws ConfigException {
        return isDry ? LocalTierFactory.openWithoutEviction(config) : LocalTierFactory.open(config);
    }

    @Override
    protected int run(LocalTier tier, GranaryConfig config) throws Exception {
        TreeReader tree = scan();
        Function<Entry, StoreResult> store =
                ifCompatible(isDry ? dryStore(tier, config) : tier::store);
        try (ProgressLine progress = new ProgressLine(err(), "importing", tree.size())) {
            tree.all(store, at -> progress.passing(at, ""));
        }
        boolean isOverCapacity = tree.storedBytes() > config.capacityBytes();
        if (isJson()) {
            JsonArray problems = new JsonArray();
            tree.problems()
                    .forEach(problem -> problems.add(JsonOutput.object(
                            "place",
                            problem.place(),
                            "reason",
                            problem.reason(),
                            "detail",
                            problem.detail())));
            JsonOutput.print(
                    out(),
                    JsonOutput.object(
                            "directory",
                            config.directory(),
                            "dryRun",
                            isDry,
                            "stored",
                            tree.stored(),
                            "storedBytes",
                            tree.storedBytes(),
                            "duplicate",
                            tree.duplicate(),
                            "refused",
                            tree.refused(),
                            "damaged",
                            tree.damaged(),
                            "foreign",
                            tree.foreign(),
                            "problems",
                            problems));
        } else {
            print(tree, config);
        }
        if (isOverCapacity) {
            err().println("granary: the tree exceeds the capacity of "
                    + Units.bytes(config.capacityBytes()) + " of " + config.directory()
                    + " (--capacity): entries imported first "
                    + (isDry ? "would be evicted again" : "were evicted again"));
            err().flush();
        }
        return tree.problems().isEmpty() ? 0 : 1;
    }

    private TreeReader scan() throws UsageException, IOException {
        try {
            return TreeReader.from(directory);
        } catch (TreeException e) {
            throw new UsageException(String.valueOf(e.getMessage()));
        }
    }

    /**
     * Returns a function that refuses an entry whose container shows that it is not for its target.
     */
    private static Function<Entry, StoreResult> ifCompatible(Function<Entry, StoreResult> store) {
        return entry -> CompatibilityChecker.check(entry.id().target(), entry.binaries())
                        instanceof BinaryCompatibility.Incompatible(String reason)
                ? new StoreResult.Refused(StoreResult.Scope.ENTRY, "incompatible: " + reason)
                : store.apply(entry);
    }

    /** Returns a function that computes the result of storing an entry, without storing it. */
    private static Function<Entry, StoreResult> dryStore(LocalTier tier, GranaryConfig config)
            throws IOException {
        Map<String, EntryCatalog.Listed> known = new HashMap<>();
        TierInventory.entries(tier)
                .forEach(listed -> known.put(listed.namespace() + "/" + listed.hash(), listed));
        return entry -> {
            long bytes = entry.binaries().byteSize() + entry.id().length();
            if (bytes > config.capacityBytes()) {
                return new StoreResult.Refused(
                        StoreResult.Scope.ENTRY,
                        "an entry of " + bytes + " bytes exceeds the limit of "
                                + config.capacityBytes() + " bytes");
            }
            EntryCatalog.Listed listed =
                    known.get(entry.id().target().path() + "/" + entry.id().hash());
            return listed != null && isStored(tier, listed, entry)
                    ? StoreResult.DUPLICATE
                    : new StoreResult.Stored(bytes);
        };
    }

    private static boolean isStored(LocalTier tier, EntryCatalog.Listed listed, Entry entry) {
        try (Arena memory = Arena.ofConfined()) {
            return EntryVerifier.read(tier, listed, memory) instanceof LoadResult.Hit(Entry stored)
                    && stored.contentHash().equals(entry.contentHash());
        }
    }

    private void print(TreeReader tree, GranaryConfig config) {
        out().println("from " + directory);
        out().println("into " + config.directory()
                + (isDry ? " (dry run: nothing was stored)" : ""));
        TextTable table = new TextTable("entries", "count");
        table.row(
                isDry ? "would be stored" : "stored",
                Units.count(tree.stored()) + " (" + Units.bytes(tree.storedBytes()) + ")");
        table.row("there already", Units.count(tree.duplicate()));
        table.row("refused", Units.count(tree.refused()));
        table.row("damaged", Units.count(tree.damaged()));
        table.row("foreign", Units.count(tree.foreign()));
        table.print(out());
        List<TreeReader.Problem> problems = tree.problems();
        if (!problems.isEmpty()) {
            out().println();
            TextTable problemTable = new TextTable("entry", "<reason", "<detail");
            problems.stream()
                    .limit(MAX_LISTED)
                    .forEach(problem -> problemTable.row(
                            Units.cut(problem.place().toString(), 24),
                            problem.reason(),
                            Units.cut(problem.detail(), 44)));
            problemTable.print(out());
            if (problems.size() > MAX_LISTED) {
                out().println("... and " + (problems.size() - MAX_LISTED)
                        + " more; --json lists all");
            }
        }
        out().flush();
    }
}
