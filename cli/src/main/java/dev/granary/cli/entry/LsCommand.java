package dev.granary.cli.entry;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.command.TierCommand;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.SelectionOptions;
import dev.granary.cli.option.TierOption;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.BoundedEntryList;
import dev.granary.cli.output.EntryDetails;
import dev.granary.cli.output.EntryFormatter;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.Place;
import dev.granary.cli.place.Places;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.time.Instant;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** {@code granary ls}: lists the entries of a tier. */
@Command(
        name = "ls",
        mixinStandardHelpOptions = true,
        description = "List the entries of the local tier, of the bucket, or of any place.")
public final class LsCommand extends TierCommand {
    /** The sort order of the list. */
    enum Order {
        USED,
        SIZE,
        COMPILE,
        NAME
    }

    @Parameters(
            arity = "0..1",
            paramLabel = "PLACE",
            description = "a directory or s3://NAME/PREFIX instead of a tier")
    private @Nullable String place;

    @Mixin
    private TierOption tier = new TierOption();

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

    @Override
    public Integer call() throws Exception {
        selection.check();
        if (limit <= 0) {
            throw new UsageException("--limit must be a positive number of entries, not " + limit);
        }
        boolean isReading = isLong || order == Order.COMPILE;
        if (isReading && (place == null ? !tier.isLocal() : Places.isBucket(place))) {
            throw new UsageException(
                    "--long and --sort compile read every entry, which would download the bucket;"
                            + " they work on the local tier");
        }
        Predicate<EntryCatalog.Listed> isSelected = selection.predicate(Instant.now());
        try (Place inventory =
                place == null ? tier.open(stores()) : Places.source(place, stores().builder())) {
            // Compile times are known only after all entries have been read.
            BoundedEntryList first = new BoundedEntryList(
                    comparator(Map.of()),
                    order == Order.COMPILE ? BoundedEntryList.MAX_ENTRIES : limit);
            try (ProgressLine progress =
                    new ProgressLine(err(), "listing", 0).watching(inventory.waits())) {
                inventory.list(entry -> {
                    if (isSelected.test(entry)) {
                        first.accept(entry);
                        progress.passing(Units.plural(first.entries(), "entry"));
                    }
                });
            }
            Map<EntryCatalog.Listed, EntryDetails> details =
                    isReading ? read(inventory, first.sorted()) : Map.of();
            List<EntryCatalog.Listed> shown = first.sorted().stream()
                    .sorted(comparator(details))
                    .limit(limit)
                    .toList();
            if (isJson()) {
                JsonArray array = new JsonArray();
                shown.forEach(entry -> array.add(json(entry, details.get(entry))));
                JsonOutput.print(
                        out(),
                        JsonOutput.object(
                                "tier",
                                inventory.name(),
                                "entries",
                                array,
                                "selectedEntries",
                                first.entries(),
                                "selectedBytes",
                                first.bytes()));
            } else {
                EntryFormatter.print(out(), shown, details);
                String part =
                        shown.size() < first.entries() ? Units.count(shown.size()) + " of " : "";
                out().println(part + EntryFormatter.sum(first.entries(), first.bytes()) + " in "
                        + inventory.name());
                out().flush();
            }
            if (first.exceedsMaximum()) {
                err().println("granary: at most " + Units.count(BoundedEntryList.MAX_ENTRIES)
                        + (order == Order.COMPILE
                                ? " are read and sorted; select with --target, --id or --older-than"
                                : " are listed; select with --target, --id or --older-than"));
                err().flush();
            }
            return 0;
        } catch (IOException e) {
            throw new CommandFailedException("the entries cannot be listed: " + e.getMessage());
        }
    }

    private Map<EntryCatalog.Listed, EntryDetails> read(
            Place inventory, List<EntryCatalog.Listed> entries) {
        Map<EntryCatalog.Listed, EntryDetails> details = new LinkedHashMap<>();
        try (ProgressLine progress = new ProgressLine(err(), "reading", entries.size())) {
            for (EntryCatalog.Listed entry : entries) {
                progress.passing(details.size(), EntryFormatter.shortId(entry));
                details.put(entry, EntryDetails.read(inventory, entry));
            }
        }
        return details;
    }

    private Comparator<EntryCatalog.Listed> comparator(
            Map<EntryCatalog.Listed, EntryDetails> details) {
        Comparator<EntryCatalog.Listed> used =
                Comparator.comparingLong(EntryCatalog.Listed::lastUsedMillis).reversed();
        Comparator<EntryCatalog.Listed> name = Comparator.comparing(EntryCatalog.Listed::namespace)
                .thenComparing(entry -> entry.hash().hex());
        return switch (order) {
            case USED -> used.thenComparing(name);
            case SIZE ->
                Comparator.comparingLong(EntryCatalog.Listed::bytes)
                        .reversed()
                        .thenComparing(used)
                        .thenComparing(name);
            case NAME -> name;
            case COMPILE ->
                Comparator.comparing((EntryCatalog.Listed entry) ->
                                details.getOrDefault(entry, EntryDetails.NONE).compileTime())
                        .reversed()
                        .thenComparing(used)
                        .thenComparing(name);
        };
    }

    private static JsonObject json(EntryCatalog.Listed entry, @Nullable EntryDetails details) {
        JsonObject object = EntryFormatter.json(entry);
        if (details != null) {
            object.addProperty("compileMillis", Units.millis(details.compileTime()));
            JsonArray kernels = new JsonArray();
            details.kernels().forEach(kernels::add);
            object.add("kernels", kernels);
            if (!details.damage().isEmpty()) {
                object.addProperty("damage", details.damage());
            }
        }
        return object;
    }
}
