package dev.granary.cli.manifest;

import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlFile;
import dev.granary.gpu.plan.ArrayCache;
import dev.granary.gpu.plan.CopyStrategy;
import dev.granary.gpu.plan.KernelPlan;
import dev.granary.gpu.plan.MemoryLocation;
import dev.granary.gpu.plan.ParallelAxis;
import dev.granary.gpu.plan.nest.ArrayLayout;
import dev.granary.gpu.plan.nest.ArrayRole;
import dev.granary.gpu.plan.nest.ElementType;
import dev.granary.gpu.plan.nest.KernelArray;
import dev.granary.gpu.plan.nest.LoopIndex;
import dev.granary.gpu.plan.nest.LoopNest;
import dev.granary.gpu.plan.nest.LoopSchedule;
import dev.granary.gpu.plan.tuning.PlanSpace;

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

/** Reader of a kernel plan as people write it. Its exceptions contain file, line and column. */
public final class PlanFile {
    /** The key of the parameters and constraints of a space of plans. */
    static final String SPACE = "space";

    private static final Set<String> FILE_KEYS = Set.of(
            "kernel",
            "logic",
            "array",
            "loop",
            "split",
            "order",
            "unroll",
            "vectorize",
            "bind",
            "cache",
            SPACE);
    private static final Set<String> ARRAY_KEYS = Set.of("name", "role", "type", "shape", "layout");
    private static final Set<String> LOOP_KEYS = Set.of("index", "iterations");
    private static final Set<String> SPLIT_KEYS = Set.of("index", "size", "inner");
    private static final Set<String> CACHE_KEYS = Set.of(
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

    private final ManifestTable top;

    PlanFile(ManifestTable top) {
        this.top = top;
    }

    /** A step that a value of the file may make invalid. */
    private interface Step<T> {
        T run() throws KernelManifestException;
    }

    /**
     * Reads the plan of a file.
     *
     * @throws KernelManifestException if the file cannot be read, or its plan is invalid
     */
    public static KernelPlan read(Path file) throws KernelManifestException {
        ManifestTable top = table(file);
        if (top.value(SPACE) != null) {
            throw top.error(
                    SPACE, "the file has a space of plans; granary tune " + file + " chooses one");
        }
        return new PlanFile(top).plan();
    }

    /**
     * Reads the space of plans of a file.
     *
     * @throws KernelManifestException if the file cannot be read, has no space, or the space is
     *     invalid
     */
    public static PlanSpace readSpace(Path file) throws KernelManifestException {
        return PlanSpaceReader.read(table(file));
    }

    private static ManifestTable table(Path file) throws KernelManifestException {
        try {
            return new ManifestTable(file, TomlFile.read(file));
        } catch (TomlException e) {
            throw new KernelManifestException(file + ":" + e.line() + ":" + e.column()
                    + ": this is not TOML: " + e.getMessage() + ".");
        } catch (IOException e) {
            throw new KernelManifestException("The plan " + file + " cannot be read: "
                    + KernelManifestReader.reason(e) + ".");
        }
    }

    KernelPlan plan() throws KernelManifestException {
        Map<String, KernelArray> arrays = arrays();
        return caches(bound(KernelPlan.of(scheduled(nest(arrays).schedule()))), arrays);
    }

    /** Returns the nest, which has no parameters. */
    LoopNest nest() throws KernelManifestException {
        return nest(arrays());
    }

    private LoopNest nest(Map<String, KernelArray> arrays) throws KernelManifestException {
        LoopNest.Builder nest =
                checked(top, "kernel", () -> LoopNest.named(required(top, "kernel")));
        for (ManifestTable loop : top.tables("loop", "[[loop]]")) {
            loop.checkKeys(LOOP_KEYS, "a loop");
            checked(
                    loop,
                    "index",
                    () -> nest.loop(index(loop, "index"), number(loop, "iterations")));
        }
        return checked(
                top,
                "logic",
                () -> nest.logic(StatementParser.parse(required(top, "logic"), arrays)));
    }

    private Map<String, KernelArray> arrays() throws KernelManifestException {
        top.checkKeys(FILE_KEYS, "a plan");
        Map<String, KernelArray> arrays = new LinkedHashMap<>();
        for (ManifestTable table : top.tables("array", "[[array]]")) {
            table.checkKeys(ARRAY_KEYS, "an array");
            KernelArray array = checked(
                    table,
                    "name",
                    () -> KernelArray.of(
                            required(table, "name"),
                            Objects.requireNonNullElse(
                                    constant(table, "role", ArrayRole.values()), ArrayRole.INPUT),
                            Objects.requireNonNullElse(
                                    constant(table, "type", ElementType.values()),
                                    ElementType.FLOAT),
                            table.numbers("shape").stream()
                                    .mapToInt(Math::toIntExact)
                                    .toArray()));
            ArrayLayout layout = layout(table);
            KernelArray placed =
                    layout == null ? array : checked(table, "layout", () -> array.layout(layout));
            if (arrays.put(array.name(), placed) != null) {
                throw table.error("name", "there are two arrays " + array.name());
            }
        }
        return arrays;
    }

    private LoopSchedule scheduled(LoopSchedule of) throws KernelManifestException {
        LoopSchedule schedule = of;
        for (ManifestTable split : top.tables("split", "[[split]]")) {
            split.checkKeys(SPLIT_KEYS, "a split");
            LoopSchedule before = schedule;
            schedule = checked(split, "index", () -> {
                LoopIndex outer = index(split, "index");
                LoopIndex inner =
                        split.value("inner") == null ? outer.inner() : index(split, "inner");
                return before.split(outer, number(split, "size"), inner);
            });
        }
        LoopSchedule split = schedule;
        if (top.value("order") != null) {
            schedule = checked(top, "order", () -> split.reorder(indices("order")));
        }
        LoopSchedule ordered = schedule;
        schedule = checked(top, "unroll", () -> ordered.unroll(indices("unroll")));
        LoopSchedule unrolled = schedule;
        return top.textOrEmpty("vectorize").isEmpty()
                ? unrolled
                : checked(top, "vectorize", () -> unrolled.vectorize(index(top, "vectorize")));
    }

    private KernelPlan bound(KernelPlan of) throws KernelManifestException {
        KernelPlan plan = of;
        ManifestTable bindings = top.table("bind", "bind = { group-x = \"i\" }").orElse(null);
        if (bindings == null) {
            return plan;
        }
        bindings.checkKeys(names(ParallelAxis.values()), "bind");
        for (String key : bindings.keys()) {
            if (bindings.textOrEmpty(key).isEmpty()) {
                continue;
            }
            KernelPlan before = plan;
            ParallelAxis axis = Arrays.stream(ParallelAxis.values())
                    .filter(each -> each.toString().equals(key))
                    .findFirst()
                    .orElseThrow();
            plan = checked(bindings, key, () -> before.bind(index(bindings, key), axis));
        }
        return plan;
    }

    private KernelPlan caches(KernelPlan of, Map<String, KernelArray> arrays)
            throws KernelManifestException {
        KernelPlan plan = of;
        Map<String, ArrayCache> caches = new HashMap<>();
        for (ManifestTable table : top.tables("cache", "[[cache]]")) {
            table.checkKeys(CACHE_KEYS, "a cache");
            if (!flag(table, "enabled", true)) {
                continue;
            }
            KernelPlan before = plan;
            ArrayCache cache = checked(table, "source", () -> cache(table, arrays, caches));
            plan = checked(table, "source", () -> before.cache(cache));
            String name = table.textOrEmpty("name");
            if (!name.isEmpty() && (arrays.containsKey(name) || caches.put(name, cache) != null)) {
                throw table.error(
                        "name", "another array or cache has the name " + TomlFile.harmless(name));
            }
        }
        return plan;
    }

    private static ArrayCache cache(
            ManifestTable table, Map<String, KernelArray> arrays, Map<String, ArrayCache> caches)
            throws KernelManifestException {
        String source = required(table, "source");
        KernelArray array = arrays.get(source);
        ArrayCache outer = caches.get(source);
        if (array == null && outer == null) {
            throw table.error(
                    "source",
                    "there is no array or cache " + TomlFile.harmless(source) + " before");
        }
        ArrayCache.Builder cache =
                array != null ? ArrayCache.of(array) : ArrayCache.of(Objects.requireNonNull(outer));
        if (table.value("index") != null) {
            cache.index(index(table, "index"));
        }
        if (table.value("level") != null) {
            cache.level(number(table, "level"));
        }
        if (table.value("max-elements") != null) {
            cache.maxElements(number(table, "max-elements"));
        }
        if (table.value("trigger-index") != null) {
            cache.triggerIndex(index(table, "trigger-index"));
        }
        if (table.value("trigger-level") != null) {
            cache.triggerLevel(number(table, "trigger-level"));
        }
        ArrayLayout layout = layout(table);
        if (layout != null) {
            cache.layout(layout);
        }
        ElementType type = constant(table, "type", ElementType.values());
        if (type != null) {
            cache.elementType(type);
        }
        if (!flag(table, "thrifty", true)) {
            cache.notThrifty();
        }
        MemoryLocation location = constant(table, "location", MemoryLocation.values());
        if (location != null) {
            cache.location(location);
        }
        if (flag(table, "double-buffer", false)) {
            cache.doubleBuffered();
        }
        MemoryLocation buffer = constant(table, "double-buffer-location", MemoryLocation.values());
        if (buffer != null) {
            cache.doubleBufferLocation(buffer);
        }
        if (flag(table, "vectorize", false)) {
            cache.vectorized();
        }
        CopyStrategy strategy = constant(table, "strategy", CopyStrategy.values());
        if (strategy != null) {
            cache.strategy(strategy);
        }
        return cache.build();
    }

    private static @Nullable ArrayLayout layout(ManifestTable table)
            throws KernelManifestException {
        Object value = table.value("layout");
        if (value == null) {
            return null;
        }
        if (value instanceof String text) {
            for (ArrayLayout layout : List.of(ArrayLayout.FIRST_MAJOR, ArrayLayout.LAST_MAJOR)) {
                if (layout.toString().equals(text)) {
                    return layout;
                }
            }
            throw table.error(
                    "layout",
                    "layout must be \"first-major\", \"last-major\" or a list of coefficients");
        }
        List<Long> coefficients = table.numbers("layout");
        return checked(
                table,
                "layout",
                () -> ArrayLayout.coefficients(
                        coefficients.stream().mapToLong(Long::longValue).toArray()));
    }

    private LoopIndex[] indices(String key) throws KernelManifestException {
        return top.texts(key).stream().map(LoopIndex::of).toArray(LoopIndex[]::new);
    }

    private static LoopIndex index(ManifestTable table, String key) throws KernelManifestException {
        return LoopIndex.of(required(table, key));
    }

    private static String required(ManifestTable table, String key) throws KernelManifestException {
        String text = table.text(key);
        if (text == null) {
            throw new KernelManifestException(table.file() + ": " + key + " is missing"
                    + table.keys().stream()
                            .findFirst()
                            .map(first -> " in the table of " + position(table, first))
                            .orElse("")
                    + ".");
        }
        return text;
    }

    private static String position(ManifestTable table, String key) {
        var position = table.position(key);
        return position == null ? "the file" : "line " + position.line();
    }

    private static int number(ManifestTable table, String key) throws KernelManifestException {
        if (table.value(key) instanceof Long number
                && number >= Integer.MIN_VALUE
                && number <= Integer.MAX_VALUE) {
            return number.intValue();
        }
        throw table.error(key, key + " must be a whole number of 32 bits, such as " + key + " = 4");
    }

    private static boolean flag(ManifestTable table, String key, boolean usual)
            throws KernelManifestException {
        return switch (table.value(key)) {
            case null -> usual;
            case Boolean flag -> flag;
            default -> throw table.error(key, key + " must be true or false");
        };
    }

    private static <E> @Nullable E constant(ManifestTable table, String key, E[] values)
            throws KernelManifestException {
        String text = table.text(key);
        if (text == null) {
            return null;
        }
        for (E value : values) {
            if (value.toString().equals(text)) {
                return value;
            }
        }
        throw table.error(
                key,
                key + " must be one of "
                        + Arrays.stream(values)
                                .map(Object::toString)
                                .collect(Collectors.joining(", ")));
    }

    private static Set<String> names(Object[] values) {
        return Arrays.stream(values).map(Object::toString).collect(Collectors.toSet());
    }

    /** Runs a step, and adds the position to its failure. */
    private static <T> T checked(ManifestTable table, String key, Step<T> step)
            throws KernelManifestException {
        try {
            return step.run();
        } catch (IllegalArgumentException e) {
            throw table.error(key, TomlFile.harmless(String.valueOf(e.getMessage())));
        } catch (ArithmeticException e) {
            throw table.error(
                    key, "a size or a product of sizes is too large; choose a smaller one");
        }
    }
}
