package dev.granary.plans;

import static dev.granary.plans.Products.I;
import static dev.granary.plans.Products.II;
import static dev.granary.plans.Products.J;
import static dev.granary.plans.Products.K;
import static dev.granary.plans.Products.KK;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.gpu.DeviceLimits;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.PlanReport.CacheReport;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.KernelArray.ArrayLayout;
import dev.granary.plans.nest.KernelArray.ArrayRole;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.nest.ValueExpression;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

import java.util.List;

/** Tests of the errors of nests, schedules, plans and caches. */
class PlanRulesTest {
    private final Products products = Products.of(64, 64, 64);
    private final KernelPlan plan = products.bound(16, 16, 8);

    private static void refused(Executable call, String... parts) {
        String message = String.valueOf(
                assertThrows(IllegalArgumentException.class, call).getMessage());
        for (String part : parts) {
            assertTrue(message.contains(part), () -> "'" + part + "' is not in: " + message);
        }
    }

    private ArrayCache.Builder a() {
        return ArrayCache.of(products.a());
    }

    private ArrayCache.Builder c() {
        return ArrayCache.of(products.c());
    }

    @Test
    @DisplayName("exactly one of index, level and maximum of elements, each positive")
    void place() {
        refused(() -> a().build(), "cache of A needs exactly one of index, level", "it has none");
        refused(() -> a().level(1).index(KK).build(), "it has 2");
        refused(() -> a().level(1).maxElements(4).build(), "it has 2");
        refused(() -> a().index(KK).maxElements(4).level(1).build(), "it has 3");
        refused(() -> a().level(0).build(), "level of the cache of A must be positive, not 0");
        refused(() -> a().level(-1).build(), "not -1");
        refused(() -> a().maxElements(0).build(), "maximum of elements", "must be positive, not 0");
        refused(() -> a().level(1).triggerLevel(0).build(), "trigger level", "must be positive");
        refused(() -> plan.cache(a().level(7).build()), "level 7", "number of loops, 6");
        refused(() -> plan.cache(a().level(2).triggerLevel(7).build()), "trigger level 7");
        refused(() -> plan.cache(a().index(LoopIndex.of("x")).build()), "There is no loop x");
        assertDoesNotThrow(() -> plan.cache(a().level(6).build()));
    }

    @Test
    @DisplayName("at most one trigger, not inside of the cache, on inputs and constants only")
    void trigger() {
        refused(
                () -> a().level(2).triggerLevel(3).triggerIndex(K).build(),
                "a trigger index and a trigger level; at most one");
        refused(() -> a().level(3).triggerLevel(2).build(), "trigger level 2", "level 3");
        refused(
                () -> plan.cache(a().index(II).triggerIndex(KK).build()),
                "The trigger of the cache of A is inside of the cache, whose level is 3",
                "the trigger, 1, must be at least that");
        refused(
                () -> c().level(2).triggerLevel(3).build(),
                "Only an input or a constant can have a trigger",
                "C has the role input-output");
        for (ArrayRole role : List.of(ArrayRole.OUTPUT, ArrayRole.TEMPORARY)) {
            KernelArray other = KernelArray.of("T", role, ElementType.FLOAT, 4);
            refused(() -> ArrayCache.of(other).level(1).triggerIndex(K).build(), "trigger");
            refused(() -> ArrayCache.of(other).level(1).doubleBuffered().build(), "double buffer");
        }
        KernelArray constant = KernelArray.of("T", ArrayRole.CONSTANT, ElementType.FLOAT, 4);
        assertDoesNotThrow(() -> ArrayCache.of(constant)
                .level(1)
                .triggerLevel(1)
                .doubleBuffered()
                .build());
        assertDoesNotThrow(() -> plan.cache(a().level(3).triggerLevel(3).build()));
    }

    @Test
    @DisplayName("a double buffer on inputs and constants only; its location needs it and suits"
            + " the cache")
    void doubleBuffer() {
        refused(() -> c().level(2).doubleBuffered().build(), "have a double buffer", "role");
        refused(
                () -> a().level(2).doubleBufferLocation(MemoryLocation.PRIVATE).build(),
                "has a location of a double buffer, but no double buffer");
        refused(
                () -> a().level(2)
                        .doubleBuffered()
                        .doubleBufferLocation(MemoryLocation.GLOBAL)
                        .build(),
                "can be in local or private memory, not in global");
        refused(
                () -> a().level(2)
                        .doubleBuffered()
                        .location(MemoryLocation.PRIVATE)
                        .doubleBufferLocation(MemoryLocation.LOCAL)
                        .build(),
                "cannot be in local memory, since the cache is not");
        ArrayCache outer = a().level(3).location(MemoryLocation.LOCAL).build();
        refused(
                () -> plan.cache(outer)
                        .cache(ArrayCache.of(outer).level(1).doubleBuffered().build()),
                "cannot be double buffered along k",
                "double buffer that one");
    }

    @Test
    @DisplayName("no cache in global memory; constant memory for whole constants only")
    void locations() {
        refused(
                () -> a().level(2).location(MemoryLocation.GLOBAL).build(),
                "cannot be in global memory");
        refused(
                () -> a().level(2).location(MemoryLocation.CONSTANT).build(),
                "Only an array with the role constant",
                "A has the role input");
        KernelArray w = KernelArray.of("W", ArrayRole.CONSTANT, ElementType.FLOAT, 4);
        refused(
                () -> ArrayCache.of(w)
                        .level(1)
                        .location(MemoryLocation.CONSTANT)
                        .elementType(ElementType.HALF)
                        .build(),
                "is the array itself");
        ArrayCache mine =
                a().level(3).location(MemoryLocation.PRIVATE).notThrifty().build();
        refused(
                () -> plan.cache(mine)
                        .cache(ArrayCache.of(mine)
                                .level(1)
                                .location(MemoryLocation.LOCAL)
                                .build()),
                "in local memory cannot copy one in private memory");
    }

    @Test
    @DisplayName("a cache of a cache has a lower level, a trigger inside of its source, and the"
            + " same kind of place")
    void hierarchy() {
        ArrayCache outer = a().level(3).build();
        KernelPlan one = plan.cache(outer);
        refused(
                () -> one.cache(ArrayCache.of(outer).level(3).build()),
                "have the levels 3 and 3; the second must be larger");
        refused(() -> one.cache(ArrayCache.of(outer).level(4).build()), "levels 4 and 3");
        refused(
                () -> one.cache(ArrayCache.of(outer).level(1).triggerLevel(4).build()),
                "have the trigger level 4 and the level 3; the second must be at least the first");
        refused(() -> one.cache(ArrayCache.of(outer).maxElements(4).build()), "must both have");
        ArrayCache budget = a().maxElements(64).build();
        KernelPlan other = plan.cache(budget);
        refused(
                () -> other.cache(ArrayCache.of(budget).maxElements(64).build()),
                "maxima 64 and 64; the second must be larger");
        refused(() -> other.cache(ArrayCache.of(budget).level(1).build()), "must both have");
        refused(() -> plan.cache(ArrayCache.of(outer).level(1).build()), "add it before");
        refused(() -> one.cache(a().level(1).build()), "has a cache of A already");
        KernelPlan two = one.cache(ArrayCache.of(outer).level(1).build());
        refused(
                () -> two.cache(ArrayCache.of(outer).level(2).build()),
                "has a cache of the cache of A already");
        assertDoesNotThrow(
                () -> one.cache(ArrayCache.of(outer).level(1).triggerLevel(3).build()));
    }

    @Test
    @DisplayName("a budget in private memory, where blocks are smaller, stays inside of the source")
    void budgetInSource() {
        Products products = Products.of(31, 37, 41);
        ArrayCache shared = ArrayCache.of(products.a())
                .maxElements(100)
                .location(MemoryLocation.LOCAL)
                .build();
        List<CacheReport> caches = products.bound(4, 8, 4)
                .cache(shared)
                .cache(ArrayCache.of(shared).maxElements(50).build())
                .report()
                .caches();
        assertEquals(List.of(4, 4), caches.get(0).block());
        assertEquals(List.of(1, 4), caches.get(1).block());
        assertEquals(caches.get(0).level(), caches.get(1).level());
    }

    @Test
    @DisplayName("layouts suit the block, and give each element a place of its own")
    void layouts() {
        refused(
                () -> plan.cache(
                        a().level(3).layout(ArrayLayout.coefficients(8)).build()),
                "1 coefficients for 2 dimensions");
        refused(
                () -> plan.cache(a().level(3)
                        .location(MemoryLocation.LOCAL)
                        .layout(ArrayLayout.coefficients(7, 1))
                        .build()),
                "give two elements");
        refused(() -> ArrayLayout.coefficients(0, 1), "must be positive");
        refused(
                () -> KernelArray.input("X", ElementType.FLOAT, 65_536, 65_536),
                "spans 2^31 elements or more");
        KernelArray other = KernelArray.input("A", ElementType.INT8, 64, 64);
        refused(() -> plan.cache(ArrayCache.of(other).level(1).build()), "has no array A");
    }

    @Test
    @DisplayName("a nest stays inside of its arrays, and does not depend on the order of loops")
    void nests() {
        KernelArray x = KernelArray.input("X", ElementType.FLOAT, 9);
        KernelArray y = KernelArray.inputOutput("Y", ElementType.FLOAT, 9);
        LoopNest.Builder nest = LoopNest.named("n").loop(I, 9);
        refused(() -> nest.logic(y.at(I).set(x.at(I.plus(1)))), "i + 1 of X[i + 1] is 1 to 9");
        refused(() -> nest.logic(y.at(I.minus(1)).set(x.at(I))), "is -1 to 7");
        refused(() -> nest.logic(y.at(I).set(x.at(J))), "The index j of X[j] has no loop");
        refused(() -> nest.logic(x.at(I).set(y.at(I))), "writes the array X, whose role is input");
        KernelArray out = KernelArray.output("O", ElementType.FLOAT, 9);
        refused(() -> nest.logic(out.at(I).add(x.at(I))), "values of an output are undefined");
        refused(
                () -> LoopNest.named("n").loop(I, 8).logic(y.at(I).set(y.at(I.plus(1)))),
                "depend on the order");
        refused(
                () -> LoopNest.named("n").loop(I, 9).loop(J, 2).logic(y.at(I).set(x.at(I))),
                "Several iterations may write one element Y[i]");
        refused(() -> LoopNest.named("n").loop(I, 0).logic(y.at(I).set(x.at(I))), "0 iterations");
        refused(() -> LoopNest.named("n").loop(I, 1).loop(I, 1), "two loops");
        refused(() -> LoopIndex.of("float"), "OpenCL C has that word");
        refused(() -> LoopIndex.of("get_local_id"), "OpenCL C has that word");
        refused(() -> LoopIndex.of("1x"), "letters, digits");
        refused(() -> KernelArray.input("a b", ElementType.FLOAT, 1), "letters, digits");
        refused(() -> KernelArray.input("A", ElementType.FLOAT), "0 dimensions");
        refused(() -> KernelArray.input("A", ElementType.FLOAT, 3, 0), "must be positive");
        refused(() -> products.a().at(I), "has 2 dimensions, not 1");
        refused(() -> ValueExpression.number(Float.NaN), "finite");
        refused(
                () -> LoopNest.named("X").loop(I, 9).logic(y.at(I).set(x.at(I))),
                "has the name of the kernel");
    }

    @Test
    @DisplayName("a schedule refuses unknown loops, bad sizes, names and orders, and vectors that"
            + " do not fit")
    void schedules() {
        LoopNest nest = products.nest();
        refused(() -> nest.schedule().split(II, 2), "There is no loop ii; the loops are [i, j, k]");
        refused(() -> nest.schedule().split(I, 0), "must be positive, not 0");
        refused(() -> nest.schedule().split(I, 2, J), "has the name");
        refused(() -> nest.schedule().split(I, 2, LoopIndex.of("A")), "has the name");
        refused(() -> nest.schedule().reorder(I, J), "must have each of these loops once");
        refused(() -> nest.schedule().reorder(I, J, J), "must have each of these loops once");
        refused(
                () -> nest.schedule().split(I, 4).reorder(II, I, J, K),
                "The loop ii is inside of the tiles of i and must follow it");
        refused(() -> nest.schedule().vectorize(J), "innermost loop can be vectorized: k, not j");
        refused(
                () -> nest.schedule().reorder(I, K, J).vectorize(J),
                "2, 4, 8 or 16 iterations; j has 64");
        refused(
                () -> nest.schedule().split(K, 4).vectorize(KK),
                "C[i, j] has no coordinate that depends on k alone");
        refused(() -> nest.schedule().unroll(KK), "There is no loop kk");
    }

    @Test
    @DisplayName(
            "loops are bound once, to one axis each, and never to two writers of one" + " element")
    void bindings() {
        refused(() -> plan.bind(K, ParallelAxis.GROUP_Z), "work-items would write one element");
        refused(() -> plan.bind(I, ParallelAxis.GROUP_Z), "The loop i is bound already");
        KernelPlan unbound = KernelPlan.of(products.tiled(4, 4, 4));
        refused(
                () -> unbound.bind(I, ParallelAxis.ITEM_X).bind(J, ParallelAxis.ITEM_X),
                "cannot be bound to item-x, since i is");
        KernelPlan strided = KernelPlan.of(products.nest().schedule().tile(I.by(4)));
        refused(
                () -> strided.bind(II, ParallelAxis.ITEM_X)
                        .cache(c().index(I).location(MemoryLocation.PRIVATE).build()),
                "would contain elements that other work-items write",
                "ii is bound and inside of the tiles of i");
        assertDoesNotThrow(() -> strided.bind(II, ParallelAxis.ITEM_X)
                .cache(c().index(I).location(MemoryLocation.LOCAL).build()));
    }

    @Test
    @DisplayName("a plan that exceeds a limit of the device is refused before the driver")
    void limits() {
        KernelPlan cached =
                plan.cache(a().level(3).location(MemoryLocation.LOCAL).build());
        PlanReport report = cached.report();
        DeviceLimits fits = new DeviceLimits(512, 0, 256, List.of(16L, 16L, 1L), 1);
        assertDoesNotThrow(() -> report.check(fits));
        refused(
                () -> report.check(new DeviceLimits(511, 0, 256, List.of(16L, 16L, 1L), 1)),
                "need 512 bytes of local memory, the device has 511");
        refused(
                () -> report.check(new DeviceLimits(512, 0, 255, List.of(16L, 16L, 1L), 1)),
                "256 work-items in a work-group, the device at most 255");
        refused(
                () -> report.check(new DeviceLimits(512, 0, 256, List.of(16L, 15L, 1L), 1)),
                "16 work-items in dimension 1");
        KernelArray w = KernelArray.of("W", ArrayRole.CONSTANT, ElementType.FLOAT, 64);
        KernelArray y = KernelArray.inputOutput("Y", ElementType.FLOAT, 64);
        PlanReport constant = KernelPlan.of(LoopNest.named("n")
                        .loop(I, 64)
                        .logic(y.at(I).add(w.at(I)))
                        .schedule())
                .cache(ArrayCache.of(w)
                        .level(1)
                        .location(MemoryLocation.CONSTANT)
                        .build())
                .report();
        assertDoesNotThrow(() -> constant.check(new DeviceLimits(0, 256, 1, List.of(1L), 1)));
        refused(
                () -> constant.check(new DeviceLimits(0, 255, 1, List.of(1L), 1)),
                "The array W has 256 bytes, constant memory of the device 255");
    }
}
