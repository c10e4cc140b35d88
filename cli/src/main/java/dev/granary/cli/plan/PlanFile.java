package dev.granary.cli.plan;

import dev.granary.cli.manifest.KernelManifestException;
import dev.granary.cli.manifest.ManifestTable;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlFile;
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

    private final PlanTable top;

    PlanFile(ManifestTable top) {
        this.top = new PlanTable(top);
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
            throw KernelManifestException.unreadable("plan", file, e);
        }
    }

    KernelPlan plan() throws KernelManifestException {
        Map<String, KernelArray> arrays = arrays();
        KernelPlan plan = bound(KernelPlan.of(scheduled(nest(arrays).schedule())));
        PlanCaches caches = new PlanCaches(arrays);
        for (PlanTable table : top.tables("cache")) {
            plan = caches.addedTo(plan, table);
        }
        return plan;
    }

    /** Returns the nest, which is the same in all plans of a space: it has no parameters. */
    LoopNest nest() throws KernelManifestException {
        return nest(arrays());
    }

    private Map<String, KernelArray> arrays() throws KernelManifestException {
        top.checkKeys(FILE_KEYS, "a plan");
        Map<String, KernelArray> arrays = new LinkedHashMap<>();
        for (PlanTable table : top.tables("array")) {
            table.checkKeys(ARRAY_KEYS, "an array");
            KernelArray array = table.checked(
                    "name",
                    () -> KernelArray.of(
                            table.text("name"),
                            Objects.requireNonNullElse(
                                    table.constant("role", ArrayRole.values()), ArrayRole.INPUT),
                            Objects.requireNonNullElse(
                                    table.constant("type", ElementType.values()),
                                    ElementType.FLOAT),
                            table.table().numbers("shape").stream()
                                    .mapToInt(Math::toIntExact)
                                    .toArray()));
            ArrayLayout layout = table.layout("layout");
            KernelArray placed =
                    layout == null ? array : table.checked("layout", () -> array.layout(layout));
            if (arrays.put(array.name(), placed) != null) {
                throw table.table().error("name", "there are two arrays " + array.name());
            }
        }
        return arrays;
    }

    private LoopNest nest(Map<String, KernelArray> arrays) throws KernelManifestException {
        LoopNest.Builder nest = top.checked("kernel", () -> LoopNest.named(top.text("kernel")));
        for (PlanTable loop : top.tables("loop")) {
            loop.checkKeys(LOOP_KEYS, "a loop");
            loop.checked("index", () -> nest.loop(loop.index("index"), loop.number("iterations")));
        }
        return top.checked(
                "logic", () -> nest.logic(StatementParser.parse(top.text("logic"), arrays)));
    }

    private LoopSchedule scheduled(LoopSchedule initial) throws KernelManifestException {
        LoopSchedule schedule = initial;
        for (PlanTable split : top.tables("split")) {
            split.checkKeys(SPLIT_KEYS, "a split");
            LoopSchedule before = schedule;
            schedule = split.checked("index", () -> {
                LoopIndex outer = split.index("index");
                LoopIndex inner = split.has("inner") ? split.index("inner") : outer.inner();
                return before.split(outer, split.number("size"), inner);
            });
        }
        LoopSchedule split = schedule;
        LoopSchedule ordered = top.has("order")
                ? top.checked("order", () -> split.reorder(top.indices("order")))
                : split;
        LoopSchedule unrolled = top.checked("unroll", () -> ordered.unroll(top.indices("unroll")));
        return top.hasText("vectorize")
                ? top.checked("vectorize", () -> unrolled.vectorize(top.index("vectorize")))
                : unrolled;
    }

    private KernelPlan bound(KernelPlan unbound) throws KernelManifestException {
        KernelPlan plan = unbound;
        ManifestTable table =
                top.table().table("bind", "bind = { group-x = \"i\" }").orElse(null);
        if (table == null) {
            return plan;
        }
        PlanTable bindings = new PlanTable(table);
        bindings.checkKeys(
                Arrays.stream(ParallelAxis.values())
                        .map(Object::toString)
                        .collect(Collectors.toSet()),
                "bind");
        for (String key : table.keys()) {
            if (!bindings.hasText(key)) {
                continue; // empty, as the value of a parameter may be: not bound
            }
            KernelPlan before = plan;
            ParallelAxis axis = Arrays.stream(ParallelAxis.values())
                    .filter(each -> each.toString().equals(key))
                    .findFirst()
                    .orElseThrow();
            plan = bindings.checked(key, () -> before.bind(bindings.index(key), axis));
        }
        return plan;
    }
}
