package dev.granary.cli.entry;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog.Listed;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.LoadResult;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.ReportTable;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.ConfigException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.lang.foreign.Arena;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;

/** {@code granary ls}: lists the entries of a place. */
@Command(description = "List the entries of the local directory, of another one, or of a bucket.")
public final class LsCommand extends OutputCommand {
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
    private int limit = 100_000; // each takes some 400 bytes

    /**
     * The details of an entry that only reading it provides.
     *
     * @param damage the kind of damage, or {@code gone} or {@code unreadable}; empty if it is sound
     */
    private record Details(
            Optional<Duration> compileTime, List<String> kernels, Optional<String> damage) {
        Details(String damage) {
            this(Optional.empty(), List.of(), Optional.of(damage));
        }

        Report.Shown shown() {
            return new Report.Shown(
                    kernels,
                    damage.map(kind -> "(" + kind + ")").orElse(String.join(" ", kernels)));
        }
    }

    @Override
    protected boolean run(Report report) throws Exception {
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
            List<Listed> all;
            try (ProgressLine progress = new ProgressLine(err(), "listing", 0)) {
                progress.passing(() -> inventory.name);
                all = selection.from(Place.entries(inventory.catalog)).stream()
                        .sorted(comparator())
                        .toList();
            }
            report.data("place", inventory.name);
            Map<Listed, Details> read = new HashMap<>();
            Function<Listed, Details> details = entry -> Objects.requireNonNull(read.get(entry));
            if (isByCompile) { // compile times are known only after all entries have been read
                read(inventory, all, read);
                all = all.stream()
                        .sorted(Comparator.comparing((Listed entry) ->
                                        details.apply(entry).compileTime().orElse(Duration.ZERO))
                                .reversed())
                        .toList();
            }
            List<Listed> shown = all.subList(0, Math.min(limit, all.size()));
            if (isLong && !isByCompile) {
                read(inventory, shown, read);
            }
            ReportTable<Listed> table = add(shown, report);
            if (isReading) {
                table.column("compiled:compileMillis", entry -> details.apply(entry)
                                .compileTime())
                        .column("~kernels", entry -> details.apply(entry).shown())
                        .column("-damage", entry -> details.apply(entry).damage());
            }
            long bytes = Place.bytes(all);
            report.data("selectedEntries", all.size())
                    .data("selectedBytes", bytes)
                    .line((shown.size() < all.size() ? Units.count(shown.size()) + " of " : "")
                            + Units.plural(all.size(), "entry") + ", " + Units.bytes(bytes) + " in "
                            + inventory.name);
            return true;
        }
    }

    static ReportTable<Listed> add(List<Listed> entries, Report report) {
        return report.table("entries", entries)
                .column("=target", Listed::namespace)
                .column("id", Listed::hash)
                .column("size:bytes", entry -> Report.bytes(entry.bytes()))
                .column("<last used", entry -> Instant.ofEpochMilli(entry.lastUsedMillis()));
    }

    private void read(Place inventory, List<Listed> entries, Map<Listed, Details> details) {
        try (ProgressLine progress = new ProgressLine(err(), "reading", entries.size())) {
            for (Listed entry : entries) {
                progress.passing(() -> entry.hash().hex());
                try (Arena memory = Arena.ofConfined()) {
                    details.put(
                            entry,
                            switch (inventory.catalog.read(entry, memory)) {
                                case LoadResult.Hit(Entry sound) ->
                                    new Details(
                                            Optional.of(sound.compileTime()),
                                            sound.metadata()
                                                    .map(EntryMetadata::kernels)
                                                    .orElse(List.of()),
                                            Optional.empty());
                                case LoadResult.Damaged damaged ->
                                    new Details(Place.name(damaged.damage()));
                                case LoadResult.Absent _ -> new Details("gone");
                                case LoadResult.Unavailable _ -> new Details("unreadable");
                            });
                }
            }
        }
    }

    /** Returns the order of a list that is not read; by compile time, entries are sorted later. */
    private Comparator<Listed> comparator() {
        Comparator<Listed> name = Comparator.comparing(Listed::namespace)
                .thenComparing(entry -> entry.hash().hex());
        Comparator<Listed> used =
                Comparator.comparingLong(Listed::lastUsedMillis).reversed().thenComparing(name);
        return switch (order) {
            case NAME -> name;
            case USED, COMPILE -> used;
            case SIZE -> Comparator.comparingLong(Listed::bytes).reversed().thenComparing(used);
        };
    }
}
