package dev.granary.plans;

import static dev.granary.plans.Products.I;
import static dev.granary.plans.Products.II;
import static dev.granary.plans.Products.J;
import static dev.granary.plans.Products.JJ;
import static dev.granary.plans.Products.K;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.PlanReport.CacheReport;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.KernelArray.ArrayLayout;
import dev.granary.plans.nest.KernelArray.ArrayRole;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.function.UnaryOperator;

/** Tests of thrifty caching: copies that change nothing are left out. */
class ThriftTest {
    private final KernelArray input = KernelArray.input("A", ElementType.FLOAT, 32, 32);
    private final KernelArray output =
            KernelArray.of("C", ArrayRole.OUTPUT, ElementType.FLOAT, 32, 32);

    /** Returns a plan of a copy of an array in blocks. */
    private KernelPlan plan(int rows, int columns) {
        return plan(input, rows, columns);
    }

    private KernelPlan plan(KernelArray of, int rows, int columns) {
        return KernelPlan.of(LoopNest.named("copy")
                .loop(I, 32)
                .loop(J, 32)
                .logic(output.at(I, J).set(of.at(I, J)))
                .schedule()
                .tile(I.by(rows), J.by(columns))
                .reorder(I, J, II, JJ));
    }

    private static void assertElided(
            boolean isElided, List<Integer> block, KernelPlan plan, ArrayCache.Builder cache) {
        KernelPlan cached = plan.cache(cache.build());
        CacheReport report = cached.report().caches().getLast();
        assertEquals(block, report.block());
        assertEquals(isElided, report.isElided(), report::toString);
        assertEquals(isElided, report.bytes() == 0);
        assertTrue(
                plan.cache(cache.notThrifty().build())
                                .report()
                                .caches()
                                .getLast()
                                .bytes()
                        > 0,
                "a cache that is not thrifty is a copy");
    }

    private ArrayCache.Builder cache(KernelArray array) {
        return ArrayCache.of(array).index(II);
    }

    @Test
    @DisplayName("the copy of a contiguous block is left out, for inputs and outputs")
    void contiguous() {
        assertElided(true, List.of(4, 32), plan(4, 32), cache(input));
        assertElided(false, List.of(32, 16), plan(32, 16), cache(input));
        assertElided(true, List.of(4, 32), plan(4, 32), cache(output));
        assertElided(false, List.of(4, 8), plan(4, 8), cache(output));
        assertElided(true, List.of(1, 32), plan(1, 32), cache(input));
    }

    @Test
    @DisplayName("another order, gaps or another type need a copy")
    void layouts() {
        assertElided(
                false, List.of(4, 32), plan(4, 32), cache(input).layout(ArrayLayout.LAST_MAJOR));
        assertElided(
                true,
                List.of(4, 32),
                plan(4, 32),
                cache(input).layout(ArrayLayout.coefficients(32, 1)));
        assertElided(
                false,
                List.of(4, 32),
                plan(4, 32),
                cache(input).layout(ArrayLayout.coefficients(34, 1)));
        assertElided(
                false, List.of(4, 32), plan(4, 32), cache(input).elementType(ElementType.HALF));
        KernelArray padded = input.layout(ArrayLayout.coefficients(34, 1));
        assertElided(
                false,
                List.of(4, 32),
                plan(padded, 4, 32),
                cache(padded).layout(ArrayLayout.coefficients(34, 1)));
        KernelArray turned = input.layout(ArrayLayout.LAST_MAJOR);
        assertElided(false, List.of(4, 32), plan(turned, 4, 32), cache(turned));
        assertElided(true, List.of(32, 4), plan(turned, 32, 4), cache(turned));
    }

    @Test
    @DisplayName("a budget selects the block, and with it the copy")
    void budget() {
        KernelPlan plan = plan(4, 8);
        assertElided(true, List.of(4, 32), plan, ArrayCache.of(input).maxElements(128));
        assertElided(false, List.of(4, 8), plan, ArrayCache.of(input).maxElements(127));
        assertElided(false, List.of(4, 8), plan, ArrayCache.of(input).maxElements(32));
        assertElided(true, List.of(1, 8), plan, ArrayCache.of(input).maxElements(31));
        assertElided(true, List.of(1, 1), plan, ArrayCache.of(input).maxElements(1));
    }

    @Test
    @DisplayName("another memory needs a copy; a part of a cache in the same memory does not")
    void memories() {
        assertElided(
                false, List.of(4, 32), plan(4, 32), cache(input).location(MemoryLocation.LOCAL));
        ArrayCache outer =
                ArrayCache.of(input).level(3).location(MemoryLocation.LOCAL).build();
        KernelPlan shared = plan(4, 8).cache(outer);
        assertElided(
                false,
                List.of(1, 8),
                shared,
                ArrayCache.of(outer).level(1).location(MemoryLocation.PRIVATE));
        assertElided(
                true,
                List.of(1, 8),
                shared,
                ArrayCache.of(outer).level(1).location(MemoryLocation.LOCAL));
        assertElided(
                false,
                List.of(4, 8),
                shared,
                ArrayCache.of(outer).level(2).location(MemoryLocation.LOCAL));
    }

    @Test
    @DisplayName("without a copy the kernel uses the array")
    void source() {
        KernelPlan plan = plan(4, 32);
        assertEquals(plan.source(), plan.cache(cache(input).build()).source());
        assertFalse(plan.source().contains("A_"));
    }

    /** Returns a plan of a copy in blocks of 4 x 8, with a cache of the input. */
    private static KernelPlan blocks(
            int rows, int columns, ArrayLayout layout, UnaryOperator<ArrayCache.Builder> cache) {
        KernelArray from =
                KernelArray.input("A", ElementType.FLOAT, rows, columns).layout(layout);
        KernelArray to = KernelArray.output("C", ElementType.FLOAT, rows, columns);
        return KernelPlan.of(LoopNest.named("copy")
                        .loop(I, rows)
                        .loop(J, columns)
                        .logic(to.at(I, J).set(from.at(I, J)))
                        .schedule()
                        .tile(I.by(4), J.by(8))
                        .reorder(I, J, II, JJ))
                .cache(cache.apply(ArrayCache.of(from).index(II)).build());
    }

    private static void assertSection(String condition, KernelPlan plan) {
        CacheReport report = plan.report().caches().getFirst();
        assertFalse(report.isElided());
        assertEquals(!condition.isEmpty(), report.isElidedInTails(), plan::source);
        assertEquals(
                !condition.isEmpty(),
                plan.source().contains("if (" + condition + ") {\n")
                        && plan.source().contains("// No copy to A_private"),
                plan::source);
    }

    @Test
    @DisplayName("an incomplete tile of one row is contiguous and has no copy")
    void sections() {
        assertSection("i >= 32", blocks(33, 48, ArrayLayout.FIRST_MAJOR, cache -> cache));
        assertSection("", blocks(34, 48, ArrayLayout.FIRST_MAJOR, cache -> cache));
        assertSection("", blocks(32, 49, ArrayLayout.FIRST_MAJOR, cache -> cache));
        assertSection("j >= 48", blocks(34, 49, ArrayLayout.LAST_MAJOR, cache -> cache));
        assertSection("", blocks(33, 48, ArrayLayout.FIRST_MAJOR, ArrayCache.Builder::notThrifty));
        assertSection(
                "",
                blocks(
                        33,
                        48,
                        ArrayLayout.FIRST_MAJOR,
                        cache -> cache.location(MemoryLocation.PRIVATE)));
        assertSection(
                "",
                blocks(
                        33,
                        48,
                        ArrayLayout.FIRST_MAJOR,
                        cache -> cache.elementType(ElementType.HALF)));
        assertSection(
                "", blocks(33, 48, ArrayLayout.FIRST_MAJOR, ArrayCache.Builder::doubleBuffered));
    }

    @Test
    @DisplayName("a tile of tiles and several dimensions: a copy is left out where one element is"
            + " left in each dimension that has gaps")
    void sectionsOfTiles() {
        KernelArray from = KernelArray.input("A", ElementType.FLOAT, 9, 13, 10);
        KernelArray to = KernelArray.output("C", ElementType.FLOAT, 9, 13, 10);
        LoopNest nest = LoopNest.named("copy")
                .loop(I, 9)
                .loop(J, 13)
                .loop(K, 10)
                .logic(to.at(I, J, K).set(from.at(I, J, K)));
        LoopIndex tile = LoopIndex.of("t");
        assertSection(
                "i >= 8 && j + t >= 12",
                KernelPlan.of(nest.schedule()
                                .tile(I.by(4), K.by(4))
                                .split(J, 8, tile)
                                .split(tile, 4, JJ)
                                .reorder(I, J, tile, K, II, JJ, K.inner()))
                        .cache(ArrayCache.of(from).index(II).build()));
    }

    @Test
    @DisplayName("at most two caches of a nest are left out in tiles, since each doubles the loops;"
            + " none outside of a barrier")
    void boundedSections() {
        Products products = Products.of(33, 33, 33);
        KernelPlan plan = KernelPlan.of(products.tiled(4, 4, 4));
        for (KernelArray array : products.arrays()) {
            plan = plan.cache(ArrayCache.of(array).level(3).build());
        }
        assertEquals(
                2,
                plan.report().caches().stream()
                        .filter(CacheReport::isElidedInTails)
                        .count());
        assertEquals(4, plan.source().split("for \\(int ii", -1).length - 1, plan::source);
        KernelPlan shared = products.bound(4, 4, 4)
                .cache(ArrayCache.of(products.b())
                        .level(2)
                        .location(MemoryLocation.LOCAL)
                        .build())
                .cache(ArrayCache.of(products.a()).level(5).build());
        assertFalse(shared.report().caches().getFirst().isElidedInTails(), shared::source);
    }

    @Test
    @DisplayName("a block in several incomplete tiles ends at the end of its array")
    void endOfArray() {
        String source = OtherPlans.interleaved().source();
        assertTrue(source.contains("if (c0 + ii < 12)"), source);
    }
}
