package dev.granary.coordinator.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.granary.cache.Catalog;
import dev.granary.coordinator.Inventory;
import java.io.IOException;
import java.time.Instant;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
        try (Inventory inventory = tier.open(stores().config())) {
            List<Catalog.Listed> all = selection.from(inventory.entries(), Instant.now());
            Map<Catalog.Listed, Details> details = isReading ? read(inventory, all) : Map.of();
            List<Catalog.Listed> shown = all.stream().sorted(comparator(details)).limit(limit).toList();
            if (isJson()) {
                JsonArray array = new JsonArray();
                shown.forEach(entry -> array.add(json(entry, details.get(entry))));
                Json.print(out(), Json.object("tier", inventory.name(), "entries", array, "selectedEntries", all.size(),
                        "selectedBytes", ListedEntries.bytes(all)));
            } else {
                ListedEntries.print(out(), shown, details);
                String part = shown.size() < all.size() ? Text.count(shown.size()) + " of " : "";
                out().println(part + ListedEntries.sum(all) + " in " + inventory.name());
                out().flush();
            }
            return 0;
        } catch (IOException e) {
            throw new FailedException("the entries cannot be listed: " + e.getMessage());
        }
    }

    private Map<Catalog.Listed, Details> read(Inventory inventory, List<Catalog.Listed> entries) {
        Map<Catalog.Listed, Details> details = new LinkedHashMap<>();
        try (Progress progress = new Progress(err(), "reading", entries.size())) {
            for (Catalog.Listed entry : entries) {
                progress.passing(details.size(), ListedEntries.shortId(entry));
                details.put(entry, Details.read(inventory, entry));
            }
        }
        return details;
    }

    /** Entries come most recently used first, and sorting is stable. */
    private Comparator<Catalog.Listed> comparator(Map<Catalog.Listed, Details> details) {
        return switch (order) {
            case USED -> Comparator.comparingLong(Catalog.Listed::lastUsedMillis).reversed();
            case SIZE -> Comparator.comparingLong(Catalog.Listed::bytes).reversed();
            case NAME -> Comparator.comparing(Catalog.Listed::namespace).thenComparing(entry -> entry.hash().hex());
            case COMPILE -> Comparator.comparing(
                    (Catalog.Listed entry) -> details.getOrDefault(entry, Details.NONE).compileTime()).reversed();
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
