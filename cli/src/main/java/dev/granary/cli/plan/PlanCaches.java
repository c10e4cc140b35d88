package dev.granary.cli.plan;

import dev.granary.cli.manifest.KernelManifestException;
import dev.granary.coordinator.toml.TomlFile;
import dev.granary.plans.ArrayCache;
import dev.granary.plans.ArrayCache.CopyStrategy;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.KernelArray.ArrayLayout;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** The caches of a plan file, by their names. Used once, by one thread. */
final class PlanCaches {
    private static final Set<String> KEYS = Set.of(
            "name",
            "enabled",
            "source",
            "index",
            "level",
            "max-elements",
            "trigger-index",
            "trigger-level",
            "layout",
            "type",
            "thrifty",
            "location",
            "double-buffer",
            "double-buffer-location",
            "vectorize",
            "strategy");

    private final Map<String, KernelArray> arrays;
    private final Map<String, ArrayCache> caches = new HashMap<>();

    PlanCaches(Map<String, KernelArray> arrays) {
        this.arrays = arrays;
    }

    /** Returns a plan with the cache of a table, or the same plan if the cache is not enabled. */
    KernelPlan addedTo(KernelPlan plan, PlanTable table) throws KernelManifestException {
        table.checkKeys(KEYS, "a cache");
        if (!table.flag("enabled", true)) {
            return plan;
        }
        ArrayCache cache = table.checked("source", () -> cache(table));
        KernelPlan cached = table.checked("source", () -> plan.cache(cache));
        if (table.hasText("name")) {
            String name = table.text("name");
            if (arrays.containsKey(name) || caches.put(name, cache) != null) {
                throw table.table()
                        .error(
                                "name",
                                "another array or cache has the name " + TomlFile.harmless(name));
            }
        }
        return cached;
    }

    private ArrayCache cache(PlanTable table) throws KernelManifestException {
        ArrayCache.Builder cache = builder(table);
        place(table, cache);
        ArrayLayout layout = table.layout("layout");
        if (layout != null) {
            cache.layout(layout);
        }
        ElementType type = table.constant("type", ElementType.values());
        if (type != null) {
            cache.elementType(type);
        }
        if (!table.flag("thrifty", true)) {
            cache.notThrifty();
        }
        MemoryLocation location = table.constant("location", MemoryLocation.values());
        if (location != null) {
            cache.location(location);
        }
        if (table.flag("double-buffer", false)) {
            cache.doubleBuffered();
        }
        MemoryLocation buffer = table.constant("double-buffer-location", MemoryLocation.values());
        if (buffer != null) {
            cache.doubleBufferLocation(buffer);
        }
        if (table.flag("vectorize", false)) {
            cache.vectorized();
        }
        CopyStrategy strategy = table.constant("strategy", CopyStrategy.values());
        if (strategy != null) {
            cache.strategy(strategy);
        }
        return cache.build();
    }

    private ArrayCache.Builder builder(PlanTable table) throws KernelManifestException {
        String source = table.text("source");
        KernelArray array = arrays.get(source);
        if (array != null) {
            return ArrayCache.of(array);
        }
        ArrayCache outer = caches.get(source);
        if (outer != null) {
            return ArrayCache.of(outer);
        }
        throw table.table()
                .error(
                        "source",
                        "there is no array or cache " + TomlFile.harmless(source) + " before");
    }

    private static void place(PlanTable table, ArrayCache.Builder cache)
            throws KernelManifestException {
        if (table.has("index")) {
            cache.index(table.index("index"));
        }
        if (table.has("level")) {
            cache.level(table.number("level"));
        }
        if (table.has("max-elements")) {
            cache.maxElements(table.number("max-elements"));
        }
        if (table.has("trigger-index")) {
            cache.triggerIndex(table.index("trigger-index"));
        }
        if (table.has("trigger-level")) {
            cache.triggerLevel(table.number("trigger-level"));
        }
    }
}
