package dev.granary.cli.plan;

import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlTable;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.ParallelAxis;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.KernelArray.ArrayLayout;
import dev.granary.plans.nest.KernelArray.ArrayRole;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.nest.LoopSchedule;
import dev.granary.plans.tuning.PlanSpace;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
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

    private final TomlTable top;

    PlanFile(TomlTable top) {
        this.top = top;
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
        return PlanSpaceReader.read(table(file));
    }

    private static TomlTable table(Path file) throws TomlException {
        try {
            return TomlTable.read(file);
        } catch (IOException e) {
            throw TomlException.unreadable("plan", file, e);
        }
    }

    static LoopIndex index(TomlTable table, String key) throws TomlException {
        return LoopIndex.of(table.required(key));
    }

    private LoopIndex[] indices(String key) throws TomlException {
        return top.texts(key).stream().map(LoopIndex::of).toArray(LoopIndex[]::new);
    }

    static ArrayLayout layout(TomlTable table, String key) throws TomlException {
        if (!(table.value(key) instanceof String text)) {
            List<Long> coefficients = table.numbers(key);
            return table.checked(
                    key,
                    () -> ArrayLayout.coefficients(
                            coefficients.stream().mapToLong(Long::longValue).toArray()));
        }
        return Stream.of(ArrayLayout.FIRST_MAJOR, ArrayLayout.LAST_MAJOR)
                .filter(layout -> layout.toString().equals(text))
                .findFirst()
                .orElseThrow(() -> table.error(
                        key,
                        key + " must be \"first-major\", \"last-major\" or a list of"
                                + " coefficients"));
    }

    private List<TomlTable> tables(String key) throws TomlException {
        return top.tables(key, "[[" + key + "]]");
    }

    KernelPlan plan() throws TomlException {
        Map<String, KernelArray> arrays = arrays();
        KernelPlan plan = bound(KernelPlan.of(scheduled(nest(arrays).schedule())));
        PlanCaches caches = new PlanCaches(arrays);
        for (TomlTable table : tables("cache")) {
            plan = caches.addedTo(plan, table);
        }
        return plan;
    }

    /** Returns the nest, which is the same in all plans of a space: it has no parameters. */
    LoopNest nest() throws TomlException {
        return nest(arrays());
    }

    private Map<String, KernelArray> arrays() throws TomlException {
        top.checkKeys(FILE_KEYS, "a plan");
        Map<String, KernelArray> arrays = new LinkedHashMap<>();
        for (TomlTable table : tables("array")) {
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
            KernelArray placed = table.has("layout")
                    ? table.checked("layout", () -> array.layout(layout(table, "layout")))
                    : array;
            if (arrays.put(array.name(), placed) != null) {
                throw table.error("name", "there are two arrays " + array.name());
            }
        }
        return arrays;
    }

    private LoopNest nest(Map<String, KernelArray> arrays) throws TomlException {
        LoopNest.Builder nest = top.checked("kernel", () -> LoopNest.named(top.required("kernel")));
        for (TomlTable loop : tables("loop")) {
            loop.checkKeys(LOOP_KEYS, "a loop");
            loop.checked("index", () -> nest.loop(index(loop, "index"), loop.number("iterations")));
        }
        return top.checked(
                "logic", () -> nest.logic(StatementParser.parse(top.required("logic"), arrays)));
    }

    private LoopSchedule scheduled(LoopSchedule initial) throws TomlException {
        LoopSchedule schedule = initial;
        for (TomlTable split : tables("split")) {
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
}
