package dev.granary.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.granary.cache.Catalog;
import dev.granary.coordinator.admin.TierInventory;
import java.io.IOException;
import java.time.Instant;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code granary ls}: lists the entries of a tier. */
@Command(name = "ls", mixinStandardHelpOptions = true, description = "List the entries of the local tier or of the bucket.")
final class LsCommand extends StoreCommand {
    /** What comes first. */
    enum Order {
        USED,
        SIZE,
        COMPILE,
        NAME
    }

    @Mixin
    private TierOption tier = new TierOption();

    @Mixin
    private SelectionOptions selection = new SelectionOptions();

    @Option(names = "--sort", paramLabel = "used|size|compile|name", defaultValue = "used",
            description = "what comes first: the last used, the largest, what took longest to compile, or by target and id"
                    + " (default: ${DEFAULT-VALUE})")
    private Order order = Order.USED;

    @Option(names = "--long", description = "read each entry and tell compile time and kernels; --sort compile does so too")
    private boolean isLong;

    @Option(names = "--limit", paramLabel = "N", description = "list the first N only")
    private int limit = Integer.MAX_VALUE;

    @Override
    public Integer call() throws Exception {
        selection.check();
        if (limit <= 0) {
            throw new UsageException("--limit must be a positive number of entries, not " + limit);
        }
        boolean isReading = isLong || order == Order.COMPILE;
        if (isReading && !tier.isLocal()) {
            throw new UsageException(
                    "--long and --sort compile read every entry, which would download the bucket; they work on the local tier");
        }
        Predicate<Catalog.Listed> isChosen = selection.chosen(Instant.now());
        try (TierInventory inventory = tier.open(stores())) {
            // What took longest to compile is known only when all are read.
            FirstEntries first = new FirstEntries(comparator(Map.of()), order == Order.COMPILE ? FirstEntries.MOST : limit);
            try (Progress progress = new Progress(err(), "listing", 0).watching(inventory.waits())) {
                inventory.list(entry -> {
                    if (isChosen.test(entry)) {
                        first.accept(entry);
                        progress.passing(Text.plural(first.entries(), "entry"));
                    }
                });
            }
            Map<Catalog.Listed, Details> details = isReading ? read(inventory, first.kept()) : Map.of();
            List<Catalog.Listed> shown = first.kept().stream().sorted(comparator(details)).limit(limit).toList();
            if (isJson()) {
                JsonArray array = new JsonArray();
                shown.forEach(entry -> array.add(json(entry, details.get(entry))));
                Json.print(out(), Json.object("tier", inventory.name(), "entries", array, "selectedEntries", first.entries(),
                        "selectedBytes", first.bytes()));
            } else {
                ListedEntries.print(out(), shown, details);
                String part = shown.size() < first.entries() ? Text.count(shown.size()) + " of " : "";
                out().println(part + ListedEntries.sum(first.entries(), first.bytes()) + " in " + inventory.name());
                out().flush();
            }
            if (shown.size() == FirstEntries.MOST && first.entries() > shown.size()) {
                err().println("granary: no more than " + Text.count(FirstEntries.MOST) + " are listed; choose with --target, --id or --older-than");
                err().flush();
            }
            return 0;
        } catch (IOException e) {
            throw new FailedException("the entries cannot be listed: " + e.getMessage());
        }
    }

    private Map<Catalog.Listed, Details> read(TierInventory inventory, List<Catalog.Listed> entries) {
        Map<Catalog.Listed, Details> details = new LinkedHashMap<>();
        try (Progress progress = new Progress(err(), "reading", entries.size())) {
            for (Catalog.Listed entry : entries) {
                progress.passing(details.size(), ListedEntries.shortId(entry));
                details.put(entry, Details.read(inventory, entry));
            }
        }
        return details;
    }

    private Comparator<Catalog.Listed> comparator(Map<Catalog.Listed, Details> details) {
        Comparator<Catalog.Listed> used = Comparator.comparingLong(Catalog.Listed::lastUsedMillis).reversed();
        Comparator<Catalog.Listed> name = Comparator.comparing(Catalog.Listed::namespace).thenComparing(entry -> entry.hash().hex());
        return switch (order) {
            case USED -> used.thenComparing(name);
            case SIZE -> Comparator.comparingLong(Catalog.Listed::bytes).reversed().thenComparing(used).thenComparing(name);
            case NAME -> name;
            case COMPILE -> Comparator.comparing((Catalog.Listed entry) -> details.getOrDefault(entry, Details.NONE).compileTime()).reversed()
                    .thenComparing(used).thenComparing(name);
        };
    }

    private static JsonObject json(Catalog.Listed entry, @Nullable Details details) {
        JsonObject object = ListedEntries.json(entry);
        if (details != null) {
            object.addProperty("compileMillis", Text.millis(details.compileTime()));
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
