package dev.granary.cli.entry;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.LoadResult;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.option.PlaceOptions;
import dev.granary.cli.option.SelectionOptions;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.ReportTable;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.BucketPlace;
import dev.granary.cli.place.Place;
import dev.granary.coordinator.config.ConfigException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.lang.foreign.Arena;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** {@code granary ls}: lists the entries of a place. */
@Command(
        name = "ls",
        description = "List the entries of the local directory, of another one, or of a bucket.")
public final class LsCommand extends OutputCommand {
    /** The largest number of entries in the output, each with some 400 bytes. */
    private static final int MAX_ENTRIES = 100_000;

    private static final List<String> SHORT = List.of("=target", "id", "size:bytes", "<last used");

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
    private record Details(
            EntryCatalog.Listed entry,
            Duration compileTime,
            List<String> kernels,
            Optional<String> damage) {}

    @Override
    public Integer call() throws Exception {
        if (limit <= 0) {
            throw new ConfigException("--limit must be a positive number of entries, not " + limit);
        }
        boolean isByCompile = order == Order.COMPILE;
        boolean isReading = isLong || isByCompile;
        try (Place inventory = place.open()) {
            if (isReading && inventory instanceof BucketPlace) {
                throw new ConfigException(
                        "--long and --sort compile read every entry, which would download the"
                                + " bucket; they work on directories");
            }
            List<EntryCatalog.Listed> all;
            try (ProgressLine progress = new ProgressLine(err(), "listing", 0)) {
                progress.passing(inventory.name());
                all = selection.from(Place.entries(inventory.catalog())).stream()
                        .sorted(comparator())
                        .toList();
            }
            Report report = report().data("place", inventory.name());
            // compile times are known only after all entries have been read
            List<EntryCatalog.Listed> shown = first(all, isByCompile ? MAX_ENTRIES : limit);
            if (isReading) {
                List<Details> details = read(inventory, shown);
                if (isByCompile) {
                    details.sort(Comparator.comparing(Details::compileTime).reversed());
                }
                details = first(details, limit);
                shown = details.stream().map(Details::entry).toList();
                addLong(details, report);
            } else {
                add(shown, Integer.MAX_VALUE, report);
            }
            long bytes = Place.bytes(all);
            report.data("selectedEntries", all.size())
                    .data("selectedBytes", bytes)
                    .line((shown.size() < all.size() ? Units.count(shown.size()) + " of " : "")
                            + Units.plural(all.size(), "entry") + ", " + Units.bytes(bytes) + " in "
                            + inventory.name());
            if (all.size() > MAX_ENTRIES && (isByCompile || limit > MAX_ENTRIES)) {
                report.problem("at most " + Units.count(MAX_ENTRIES)
                        + (isByCompile ? " are read and sorted" : " are listed")
                        + "; select with --target, --id or --older-than");
            }
            report.print();
            return 0;
        }
    }

    private static <T> List<T> first(List<T> all, int limit) {
        return all.subList(0, Math.min(Math.min(limit, MAX_ENTRIES), all.size()));
    }

    /** Adds a table of entries, of which the text has at most {@code limit}. */
    static void add(List<EntryCatalog.Listed> entries, int limit, Report report) {
        ReportTable table =
                report.table("entries", SHORT.toArray(String[]::new)).limit(limit);
        entries.forEach(entry -> table.row(cells(entry).toArray()));
    }

    private static void addLong(List<Details> entries, Report report) {
        List<String> headings = new ArrayList<>(SHORT);
        headings.addAll(List.of("compiled:compileMillis", "~kernels", "-damage"));
        ReportTable table = report.table("entries", headings.toArray(String[]::new));
        for (Details each : entries) {
            List<Object> cells = cells(each.entry());
            cells.add(each.damage().isEmpty() ? each.compileTime() : Optional.empty());
            String kernels = String.join(" ", each.kernels());
            String shown = each.damage().map(damage -> "(" + damage + ")").orElse(kernels);
            cells.add(new Report.Shown(each.kernels(), shown));
            cells.add(each.damage());
            table.row(cells.toArray());
        }
    }

    private static List<Object> cells(EntryCatalog.Listed entry) {
        Instant used = Instant.ofEpochMilli(entry.lastUsedMillis());
        return new ArrayList<>(
                List.of(entry.namespace(), entry.hash(), Report.bytes(entry.bytes()), used));
    }

    private List<Details> read(Place inventory, List<EntryCatalog.Listed> entries) {
        List<Details> details = new ArrayList<>();
        try (ProgressLine progress = new ProgressLine(err(), "reading", entries.size())) {
            for (EntryCatalog.Listed entry : entries) {
                progress.passing(details.size(), entry.hash().hex());
                try (Arena memory = Arena.ofConfined()) {
                    details.add(
                            switch (inventory.catalog().read(entry, memory)) {
                                case LoadResult.Hit(Entry sound) -> sound(entry, sound);
                                case LoadResult.Damaged damaged ->
                                    unread(entry, Place.name(damaged.damage()));
                                case LoadResult.Absent _ -> unread(entry, "gone");
                                case LoadResult.Unavailable _ -> unread(entry, "unreadable");
                            });
                }
            }
        }
        return details;
    }

    private static Details sound(EntryCatalog.Listed entry, Entry sound) {
        List<String> kernels = sound.metadata().map(EntryMetadata::kernels).orElse(List.of());
        return new Details(entry, sound.compileTime(), kernels, Optional.empty());
    }

    private static Details unread(EntryCatalog.Listed entry, String cause) {
        return new Details(entry, Duration.ZERO, List.of(), Optional.of(cause));
    }

    /** Returns the order of a list that is not read; by compile time, entries are sorted later. */
    private Comparator<EntryCatalog.Listed> comparator() {
        Comparator<EntryCatalog.Listed> name = Comparator.comparing(EntryCatalog.Listed::namespace)
                .thenComparing(entry -> entry.hash().hex());
        Comparator<EntryCatalog.Listed> used = Comparator.comparingLong(
                        EntryCatalog.Listed::lastUsedMillis)
                .reversed()
                .thenComparing(name);
        return switch (order) {
            case NAME -> name;
            case USED, COMPILE -> used;
            case SIZE ->
                Comparator.comparingLong(EntryCatalog.Listed::bytes).reversed().thenComparing(used);
        };
    }
}
