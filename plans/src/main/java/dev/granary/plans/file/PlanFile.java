package dev.granary.plans.file;

import dev.granary.coordinator.toml.SafeText;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlTable;
import dev.granary.plans.ArrayCache;
import dev.granary.plans.ArrayCache.CopyStrategy;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.ParallelAxis;
import dev.granary.plans.expression.StatementParser;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.KernelArray.ArrayLayout;
import dev.granary.plans.nest.KernelArray.ArrayRole;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.nest.LoopSchedule;
import dev.granary.plans.tuning.PlanSpace;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Reader of a kernel plan as people write it. Its exceptions contain file, line and column. */
public final class PlanFile {
    /** The key of the parameters and constraints of a space of plans. */
    static final String SPACE = "space";

    private static final Set<String> FILE_KEYS =
            keys("kernel logic array loop split order unroll" + " vectorize bind cache space");
    private static final Set<String> ARRAY_KEYS = Set.of("name", "role", "type", "shape", "layout");
    private static final Set<String> LOOP_KEYS = Set.of("index", "iterations");
    private static final Set<String> SPLIT_KEYS = Set.of("index", "size", "inner");
    private static final Set<String> CACHE_KEYS = keys("name enabled source index level"
            + " max-elements trigger-index trigger-level layout type thrifty location"
            + " double-buffer double-buffer-location vectorize strategy");

    private final TomlTable top;
    private final Map<String, KernelArray> arrays;
    private final Map<String, ArrayCache> caches = new HashMap<>();

    PlanFile(TomlTable top) throws TomlException {
        this.top = top;
        this.arrays = arrays(top);
    }

    private static Set<String> keys(String names) {
        return Set.of(names.split(" "));
    }

    /**
     * Reads the plan of a file.
     *
     * @throws TomlException if the file cannot be read, or its plan is invalid
     */
    public static KernelPlan read(Path file) throws TomlException {
        TomlTable top = table(file);
        if (top.has(SPACE)) {
            throw top.error(
                    SPACE, "the file has a space of plans; granary tune " + file + " chooses one");
        }
        return new PlanFile(top).plan();
    }

    /**
     * Reads the space of plans of a file.
     *
     * @throws TomlException if the file cannot be read, has no space, or the space is invalid
     */
    public static PlanSpace readSpace(Path file) throws TomlException {
        return new PlanSpaceReader(table(file)).space();
    }

    private static TomlTable table(Path file) throws TomlException {
        try {
            return TomlTable.read(file);
        } catch (IOException e) {
            throw TomlException.unreadable("plan", file, e);
        }
    }

    private static List<TomlTable> tables(TomlTable top, String key) throws TomlException {
        return top.tables(key, "[[" + key + "]]");
    }

    private static Map<String, KernelArray> arrays(TomlTable top) throws TomlException {
        top.checkKeys(FILE_KEYS, "a plan");
        Map<String, KernelArray> arrays = new LinkedHashMap<>();
        for (TomlTable table : tables(top, "array")) {
            table.checkKeys(ARRAY_KEYS, "an array");
            KernelArray array = table.checked(
                    "name",
                    () -> KernelArray.of(
                            table.required("name"),
                            table.choice("role", List.of(ArrayRole.values()))
                                    .orElse(ArrayRole.INPUT),
                            table.choice("type", List.of(ElementType.values()))
                                    .orElse(ElementType.FLOAT),
                            table.numbers("shape").stream()
                                    .mapToInt(Math::toIntExact)
                                    .toArray()));
            ArrayLayout layout = layout(table);
            KernelArray placed =
                    layout == null ? array : table.checked("layout", () -> array.layout(layout));
            if (arrays.put(array.name(), placed) != null) {
                throw table.error("name", "there are two arrays " + array.name());
            }
        }
        return arrays;
    }

    private static @Nullable ArrayLayout layout(TomlTable table) throws TomlException {
        Object value = table.value("layout");
        if (value == null) {
            return null;
        }
        if (value instanceof String text) {
            return Stream.of(ArrayLayout.FIRST_MAJOR, ArrayLayout.LAST_MAJOR)
                    .filter(layout -> layout.toString().equals(text))
                    .findFirst()
                    .orElseThrow(() -> table.error(
                            "layout",
                            "layout must be \"first-major\", \"last-major\" or a list of"
                                    + " coefficients"));
        }
        List<Long> numbers = table.numbers("layout");
        return table.checked(
                "layout",
                () -> ArrayLayout.coefficients(
                        numbers.stream().mapToLong(Long::longValue).toArray()));
    }

    private static LoopIndex index(TomlTable table, String key) throws TomlException {
        return LoopIndex.of(table.required(key));
    }

    private LoopIndex[] indices(String key) throws TomlException {
        return top.texts(key).stream().map(LoopIndex::of).toArray(LoopIndex[]::new);
    }

    KernelPlan plan() throws TomlException {
        KernelPlan plan = bound(KernelPlan.of(scheduled(nest().schedule())));
        for (TomlTable table : tables(top, "cache")) {
            plan = cached(plan, table);
        }
        return plan;
    }

    /** Returns the nest, which is the same in all plans of a space: it has no parameters. */
    LoopNest nest() throws TomlException {
        LoopNest.Builder nest = top.checked("kernel", () -> LoopNest.named(top.required("kernel")));
        for (TomlTable loop : tables(top, "loop")) {
            loop.checkKeys(LOOP_KEYS, "a loop");
            loop.checked("index", () -> nest.loop(index(loop, "index"), loop.number("iterations")));
        }
        StatementParser parser = new StatementParser(arrays);
        return top.checked("logic", () -> nest.logic(parser.parse(top.required("logic"))));
    }

    private LoopSchedule scheduled(LoopSchedule initial) throws TomlException {
        LoopSchedule schedule = initial;
        for (TomlTable split : tables(top, "split")) {
            split.checkKeys(SPLIT_KEYS, "a split");
            LoopSchedule before = schedule;
            schedule = split.checked("index", () -> {
                LoopIndex outer = index(split, "index");
                LoopIndex inner = split.has("inner") ? index(split, "inner") : outer.inner();
                return before.split(outer, split.number("size"), inner);
            });
        }
        LoopSchedule split = schedule;
        LoopSchedule ordered = top.has("order")
                ? top.checked("order", () -> split.reorder(indices("order")))
                : split;
        LoopSchedule unrolled = top.checked("unroll", () -> ordered.unroll(indices("unroll")));
        return !top.textOrEmpty("vectorize").isEmpty()
                ? top.checked("vectorize", () -> unrolled.vectorize(index(top, "vectorize")))
                : unrolled;
    }

    private KernelPlan bound(KernelPlan unbound) throws TomlException {
        KernelPlan plan = unbound;
        TomlTable bindings = top.table("bind", "bind = { group-x = \"i\" }").orElse(null);
        if (bindings == null) {
            return plan;
        }
        Map<String, ParallelAxis> axes = Arrays.stream(ParallelAxis.values())
                .collect(Collectors.toMap(Object::toString, axis -> axis));
        bindings.checkKeys(axes.keySet(), "bind");
        for (String key : bindings.keys()) {
            if (bindings.textOrEmpty(key).isEmpty()) {
                continue; // as the value of a parameter may be: not bound
            }
            KernelPlan before = plan;
            ParallelAxis axis = Objects.requireNonNull(axes.get(key));
            plan = bindings.checked(key, () -> before.bind(index(bindings, key), axis));
        }
        return plan;
    }

    /** Returns a plan with the cache of a table, or the same plan if the cache is not enabled. */
    private KernelPlan cached(KernelPlan plan, TomlTable table) throws TomlException {
        table.checkKeys(CACHE_KEYS, "a cache");
        if (!table.flag("enabled", true)) {
            return plan;
        }
        ArrayCache cache = table.checked("source", () -> cache(table));
        String name = table.textOrEmpty("name");
        if (!name.isEmpty() && (arrays.containsKey(name) || caches.put(name, cache) != null)) {
            throw table.error(
                    "name", "another array or cache has the name " + SafeText.ofFile(name));
        }
        return table.checked("source", () -> plan.cache(cache));
    }

    private ArrayCache cache(TomlTable table) throws TomlException {
        String name = table.required("source");
        ArrayCache source = caches.get(name);
        KernelArray array = source == null ? arrays.get(name) : source.array();
        if (array == null) {
            throw table.error(
                    "source", "there is no array or cache " + SafeText.ofFile(name) + " before");
        }
        return new ArrayCache(
                array,
                source,
                table.has("index") ? index(table, "index") : null,
                table.has("level") ? table.number("level") : null,
                table.has("max-elements") ? (long) table.number("max-elements") : null,
                table.has("trigger-index") ? index(table, "trigger-index") : null,
                table.has("trigger-level") ? table.number("trigger-level") : null,
                layout(table),
                table.choice("type", List.of(ElementType.values())).orElse(null),
                table.flag("thrifty", true),
                location(table, "location"),
                table.flag("double-buffer", false),
                location(table, "double-buffer-location"),
                table.flag("vectorize", false),
                table.choice("strategy", List.of(CopyStrategy.values())).orElse(null));
    }

    private static @Nullable MemoryLocation location(TomlTable table, String key)
            throws TomlException {
        return table.choice(key, List.of(MemoryLocation.values())).orElse(null);
    }
}
