package dev.granary.plans.tuning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.plans.tuning.PlanSpace.PlanParameters;
import dev.granary.plans.tuning.TunedPlan.TuningDescriptor;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.stream.IntStream;

/** Tests of spaces, their constraints and their keys. */
class PlanSpaceTest {
    private static final Target TARGET = new Target(Backend.OPENCL, "pocl", "device", "version");

    private static PlanSpace.Builder numbers() {
        return PlanSpace.of(TuningProducts.nest(8))
                .parameter("a", 1, 2, 3, 4)
                .parameter("b", 1, 2, 3)
                .parameter("memory", "local", "none");
    }

    private static List<String> points(String... constraints) {
        PlanSpace.Builder builder = numbers();
        for (String constraint : constraints) {
            builder.where(constraint);
        }
        PlanSpace space = builder.plans(_ -> TuningProducts.tiled(8, 4, 4));
        return IntStream.range(0, space.size())
                .mapToObj(number -> space.point(number).toString())
                .toList();
    }

    private static PlanParameters values(String... namesAndValues) {
        LinkedHashMap<String, String> values = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            values.put(namesAndValues[i], namesAndValues[i + 1]);
        }
        return new PlanParameters(values);
    }

    private static void refused(String message, Executable action) {
        String found = assertThrows(IllegalArgumentException.class, action).getMessage();
        assertTrue(found != null && found.contains(message), found);
    }

    @Test
    @DisplayName("a space has all combinations that satisfy its constraints, in order")
    void combinations() {
        assertEquals(24, points().size());
        assertEquals("a=1 b=1 memory=local", points().getFirst());
        assertEquals("a=1 b=1 memory=none", points().get(1));
        assertEquals("a=4 b=3 memory=none", points().getLast());
        assertEquals(List.of("a=4 b=3 memory=local", "a=4 b=3 memory=none"), points("a * b >= 12"));
        assertEquals(List.of("a=3 b=1 memory=none"), points("a == 3", "b < 2", "memory == 'none'"));
        assertEquals(
                List.of("a=1 b=1 memory=local", "a=4 b=3 memory=local"),
                points(
                        "memory != 'none'",
                        "a + b == 2 or (a - 1) * b == 3 * b",
                        "a == b or b > 2",
                        "a < 2 or a > 3"));
        assertEquals(
                List.of("a=1 b=2 memory=none", "a=3 b=2 memory=none"),
                points("a % 2 == 1", "7 / b == 3", "memory == 'none'"));
    }

    @Test
    @DisplayName("a mistake in a space is an error that names it")
    void mistakes() {
        refused("has the name c, which is no parameter", () -> points("c < 1"));
        refused("a comparison such as <= is missing", () -> points("a + b"));
        refused("unknown character in column 3", () -> points("a & b == 1"));
        refused("'b' after its end", () -> points("a < 1 b"));
        refused("an end where more is needed", () -> points("(a + 1 < 2"));
        refused("an end where more is needed", () -> points("a <"));
        refused("is compared or computed as a number", () -> points("memory < 1"));
        refused("zero", () -> points("a / (b - b) == 1"));
        refused("satisfies its constraints", () -> points("a > 100"));
        refused("There are two parameters a", () -> numbers().parameter("a", 1));
        refused("begins with a lower-case letter", () -> numbers().parameter("A", 1));
        refused("begins with a lower-case letter", () -> numbers().parameter("or", 1));
        refused("needs values, each once", () -> numbers().parameter("c", 1, 1));
        refused("needs values, each once", () -> numbers().parameter("c"));
        refused("control character", () -> numbers().parameter("c", "x\ny"));
        PlanSpace.Builder many = numbers();
        for (int i = 0; i < 20; i++) {
            many.parameter("p" + i, 1, 2);
        }
        refused(
                "more than 1000000 combinations",
                () -> many.plans(_ -> TuningProducts.tiled(8, 4, 4)));
    }

    @Test
    @DisplayName("only points of the space have a plan")
    void containment() {
        PlanSpace space = TuningProducts.tiles(8);
        assertTrue(space.contains(values("ti", "8", "tj", "16", "cached", "true")));
        assertFalse(space.contains(values("ti", "16", "tj", "16", "cached", "true")));
        assertFalse(space.contains(values("ti", "8", "tj", "7", "cached", "true")));
        assertFalse(space.contains(values("tj", "8", "ti", "8", "cached", "true")));
        assertFalse(space.contains(values("ti", "8", "tj", "8")));
        refused("are not in the space", () -> space.plan(values("ti", "8")));
        PlanSpace other = numbers().plans(_ -> TuningProducts.tiled(16, 4, 4));
        refused("is one of another nest", () -> other.plan(other.point(0)));
    }

    @Test
    @DisplayName("spaces that differ in a value, a constraint, a plan or the problem have other"
            + " ids")
    void ids() {
        PlanSpace space = TuningProducts.tiles(8);
        TuningDescriptor descriptor = TuningDescriptor.of(space, TARGET);
        assertEquals(descriptor, TuningDescriptor.of(TuningProducts.tiles(8), TARGET));
        List<PlanSpace> others = List.of(
                TuningProducts.tiles(9),
                PlanSpace.of(TuningProducts.nest(8))
                        .parameter("ti", 4, 8, 16)
                        .parameter("tj", 4, 8)
                        .parameter("cached", true, false)
                        .where("ti * tj <= 128")
                        .plans(values -> TuningProducts.plan(8, values)),
                PlanSpace.of(TuningProducts.nest(8))
                        .parameter("ti", 4, 8, 16)
                        .parameter("tj", 4, 8, 16)
                        .parameter("cached", true, false)
                        .where("ti * tj < 129")
                        .plans(values -> TuningProducts.plan(8, values)),
                PlanSpace.of(TuningProducts.nest(8))
                        .parameter("ti", 4, 8, 16)
                        .parameter("tj", 4, 8, 16)
                        .parameter("cached", true, false)
                        .where("ti * tj <= 128")
                        .plans(_ -> TuningProducts.tiled(8, 4, 4)));
        for (PlanSpace other : others) {
            assertNotEquals(
                    descriptor.getId(), TuningDescriptor.of(other, TARGET).getId());
        }
        assertNotEquals(descriptor.getId(), descriptor.revision(1).getId());
        assertEquals(descriptor, descriptor.revision(1).revision(0));
        Target other = new Target(Backend.OPENCL, "pocl", "device", "another");
        assertNotEquals(descriptor, TuningDescriptor.of(space, other));
        assertEquals("tuning", descriptor.getId().fields().get(4).text());
    }
}
