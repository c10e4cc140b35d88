package dev.granary.cli.entry;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.LoadResult;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.option.PlaceOptions;
import dev.granary.cli.option.SelectionOptions;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.BoundedEntryList;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.ReportTable;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.Place;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.lang.foreign.Arena;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/** {@code granary ls}: lists the entries of a place. */
@Command(
        name = "ls",
        mixinStandardHelpOptions = true,
        description = "List the entries of the local directory, of another one, or of a bucket.")
public final class LsCommand extends OutputCommand {
    private static final Details NOT_READ = new Details(Duration.ZERO, List.of(), "");

    /** The sort order of the list. */
    enum Order {
        USED,
        SIZE,
        COMPILE,
        NAME
    }

    @Mixin
    private PlaceOptions place = new PlaceOptions();

    @Mixin
    private SelectionOptions selection = new SelectionOptions();

    @Option(
            names = "--sort",
            paramLabel = "used|size|compile|name",
            defaultValue = "used",
            description =
                    "sort by last use, size, compile time (largest first), or by target and id"
                            + " (default: ${DEFAULT-VALUE})")
    private Order order = Order.USED;

    @Option(
            names = "--long",
            description = "read each entry and show its compile time and kernels; implied by --sort"
                    + " compile")
    private boolean isLong;

    @Option(names = "--limit", paramLabel = "N", description = "list only the first N")
    private int limit = Integer.MAX_VALUE;

    /**
     * The details of an entry that only reading it provides.
     *
     * @param damage the kind of damage, or {@code gone} or {@code unreadable}; empty if it is sound
     */
    private record Details(Duration compileTime, List<String> kernels, String damage) {}

    @Override
    public Integer call() throws Exception {
        if (limit <= 0) {
            throw new UsageException("--limit must be a positive number of entries, not " + limit);
        }
        boolean isReading = isLong || order == Order.COMPILE;
        if (isReading && place.isBucket()) {
            throw new UsageException(
                    "--long and --sort compile read every entry, which would download the bucket;"
                            + " they work on directories");
        }
        Predicate<EntryCatalog.Listed> isSelected = selection.predicate();
        try (Place inventory = place.open()) {
            // Compile times are known only after all entries have been read.
            BoundedEntryList first = new BoundedEntryList(
                    comparator(Map.of()),
                    order == Order.COMPILE ? BoundedEntryList.MAX_ENTRIES : limit);
            try (ProgressLine progress =
                    new ProgressLine(err(), "listing", 0).watching(inventory.waits())) {
                inventory.catalog().list(entry -> {
                    if (isSelected.test(entry)) {
                        first.accept(entry);
                        progress.passing(Units.plural(first.entries(), "entry"));
                    }
                });
            }
            Map<EntryCatalog.Listed, Details> details =
                    isReading ? read(inventory, first.sorted()) : Map.of();
            List<EntryCatalog.Listed> shown = first.sorted().stream()
                    .sorted(comparator(details))
                    .limit(limit)
                    .toList();
            Report report = report().data("place", inventory.name());
            if (isReading) {
                addLong(shown, details, report);
            } else {
                add(shown, Integer.MAX_VALUE, report);
            }
            report.data("selectedEntries", first.entries())
                    .data("selectedBytes", first.bytes())
                    .line((shown.size() < first.entries() ? Units.count(shown.size()) + " of " : "")
                            + Units.plural(first.entries(), "entry") + ", "
                            + Units.bytes(first.bytes()) + " in " + inventory.name());
            if (first.exceedsMaximum()) {
                report.problem("at most " + Units.count(BoundedEntryList.MAX_ENTRIES)
                        + (order == Order.COMPILE
                                ? " are read and sorted; select with --target, --id or --older-than"
                                : " are listed; select with --target, --id or --older-than"));
            }
            report.print();
            return 0;
        }
    }

    /** Adds a table of entries, of which the text has at most {@code limit}. */
    static void add(List<EntryCatalog.Listed> entries, int limit, Report report) {
        ReportTable table = report.table("entries", "=target", "id", "size:bytes", "<last used")
                .limit(limit);
        entries.forEach(entry -> table.row(
                entry.namespace(),
                entry.hash(),
                Report.bytes(entry.bytes()),
                Instant.ofEpochMilli(entry.lastUsedMillis())));
    }

    private static void addLong(
            List<EntryCatalog.Listed> entries,
            Map<EntryCatalog.Listed, Details> details,
            Report report) {
        ReportTable table = report.table(
                "entries",
                "=target",
                "id",
                "size:bytes",
                "<last used",
                "compiled:compileMillis",
                "~kernels",
                "-damage");
        for (EntryCatalog.Listed entry : entries) {
            Details read = details.getOrDefault(entry, NOT_READ);
            boolean isSound = read.damage().isEmpty();
            table.row(
                    entry.namespace(),
                    entry.hash(),
                    Report.bytes(entry.bytes()),
                    Instant.ofEpochMilli(entry.lastUsedMillis()),
                    isSound ? read.compileTime() : Optional.empty(),
                    new Report.Shown(
                            read.kernels(),
                            isSound ? String.join(" ", read.kernels()) : "(" + read.damage() + ")"),
                    isSound ? Optional.empty() : read.damage());
        }
    }

    private Map<EntryCatalog.Listed, Details> read(
            Place inventory, List<EntryCatalog.Listed> entries) {
        Map<EntryCatalog.Listed, Details> details = new LinkedHashMap<>();
        try (ProgressLine progress = new ProgressLine(err(), "reading", entries.size())) {
            for (EntryCatalog.Listed entry : entries) {
                progress.passing(details.size(), entry.hash().hex());
                details.put(entry, read(inventory, entry));
            }
        }
        return details;
    }

    private static Details read(Place inventory, EntryCatalog.Listed listed) {
        try (Arena memory = Arena.ofConfined()) {
            return switch (inventory.catalog().read(listed, memory)) {
                case LoadResult.Hit(Entry entry) ->
                    new Details(
                            entry.compileTime(),
                            entry.metadata().map(EntryMetadata::kernels).orElse(List.of()),
                            "");
                case LoadResult.Damaged damaged ->
                    new Details(Duration.ZERO, List.of(), Place.name(damaged.damage()));
                case LoadResult.Absent _ -> new Details(Duration.ZERO, List.of(), "gone");
                case LoadResult.Unavailable _ ->
                    new Details(Duration.ZERO, List.of(), "unreadable");
            };
        }
    }

    private Comparator<EntryCatalog.Listed> comparator(Map<EntryCatalog.Listed, Details> details) {
        Comparator<EntryCatalog.Listed> used =
                Comparator.comparingLong(EntryCatalog.Listed::lastUsedMillis).reversed();
        Comparator<EntryCatalog.Listed> name = Comparator.comparing(EntryCatalog.Listed::namespace)
                .thenComparing(entry -> entry.hash().hex());
        Comparator<EntryCatalog.Listed> main =
                switch (order) {
                    case USED, NAME -> used;
                    case SIZE ->
                        Comparator.comparingLong(EntryCatalog.Listed::bytes).reversed();
                    case COMPILE ->
                        Comparator.comparing((EntryCatalog.Listed entry) ->
                                        details.getOrDefault(entry, NOT_READ).compileTime())
                                .reversed();
                };
        return order == Order.NAME ? name : main.thenComparing(used).thenComparing(name);
    }
}
