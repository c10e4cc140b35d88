package dev.granary.cli.plan;

import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlFile;
import dev.granary.coordinator.toml.TomlTable;
import dev.granary.plans.ArrayCache;
import dev.granary.plans.ArrayCache.CopyStrategy;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The caches of a plan file, by their names. Used once, by one thread. */
final class PlanCaches {
    private static final Map<String, Setter> SETTERS = Map.ofEntries(
            Map.entry("index", (table, key, cache) -> cache.index(PlanFile.index(table, key))),
            Map.entry("level", (table, key, cache) -> cache.level(table.number(key))),
            Map.entry("max-elements", (table, key, cache) -> cache.maxElements(table.number(key))),
            Map.entry(
                    "trigger-index",
                    (table, key, cache) -> cache.triggerIndex(PlanFile.index(table, key))),
            Map.entry(
                    "trigger-level", (table, key, cache) -> cache.triggerLevel(table.number(key))),
            Map.entry("layout", (table, key, cache) -> cache.layout(PlanFile.layout(table, key))),
            Map.entry(
                    "type",
                    (table, key, cache) ->
                            cache.elementType(chosen(table, key, ElementType.values()))),
            Map.entry("thrifty", (table, key, cache) -> {
                if (!table.flag(key, true)) {
                    cache.notThrifty();
                }
            }),
            Map.entry(
                    "location",
                    (table, key, cache) ->
                            cache.location(chosen(table, key, MemoryLocation.values()))),
            Map.entry("double-buffer", (table, key, cache) -> {
                if (table.flag(key, false)) {
                    cache.doubleBuffered();
                }
            }),
            Map.entry(
                    "double-buffer-location",
                    (table, key, cache) -> cache.doubleBufferLocation(
                            chosen(table, key, MemoryLocation.values()))),
            Map.entry("vectorize", (table, key, cache) -> {
                if (table.flag(key, false)) {
                    cache.vectorized();
                }
            }),
            Map.entry(
                    "strategy",
                    (table, key, cache) ->
                            cache.strategy(chosen(table, key, CopyStrategy.values()))));

    private final Map<String, KernelArray> arrays;
    private final Map<String, ArrayCache> caches = new HashMap<>();

    PlanCaches(Map<String, KernelArray> arrays) {
        this.arrays = arrays;
    }

    /** Setter of the value that a key has. */
    @FunctionalInterface
    private interface Setter {
        void set(TomlTable table, String key, ArrayCache.Builder cache) throws TomlException;
    }

    private static <E> E chosen(TomlTable table, String key, E[] values) throws TomlException {
        return table.choice(key, List.of(values)).orElseThrow();
    }

    /** Returns a plan with the cache of a table, or the same plan if the cache is not enabled. */
    KernelPlan addedTo(KernelPlan plan, TomlTable table) throws TomlException {
        Set<String> keys = new HashSet<>(SETTERS.keySet());
        keys.addAll(List.of("name", "enabled", "source"));
        table.checkKeys(keys, "a cache");
        if (!table.flag("enabled", true)) {
            return plan;
        }
        ArrayCache cache = table.checked("source", () -> cache(table));
        KernelPlan cached = table.checked("source", () -> plan.cache(cache));
        String name = table.textOrEmpty("name");
        if (!name.isEmpty() && (arrays.containsKey(name) || caches.put(name, cache) != null)) {
            throw table.error(
                    "name", "another array or cache has the name " + TomlFile.harmless(name));
        }
        return cached;
    }

    private ArrayCache cache(TomlTable table) throws TomlException {
        String source = table.required("source");
        ArrayCache.Builder cache;
        if (arrays.containsKey(source)) {
            cache = ArrayCache.of(arrays.get(source));
        } else if (caches.containsKey(source)) {
            cache = ArrayCache.of(caches.get(source));
        } else {
            throw table.error(
                    "source",
                    "there is no array or cache " + TomlFile.harmless(source) + " before");
        }
        for (String key : table.keys()) {
            if (SETTERS.containsKey(key)) {
                SETTERS.get(key).set(table, key, cache);
            }
        }
        return cache.build();
    }
}
