package dev.granary.plans;

import static dev.granary.plans.Products.I;
import static dev.granary.plans.Products.II;
import static dev.granary.plans.Products.J;
import static dev.granary.plans.Products.JJ;
import static dev.granary.plans.Products.K;
import static dev.granary.plans.Products.KK;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.gpu.opencl.BuildLogs;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.testing.TestRuns;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.stream.Collectors;

/** Tests of the loops that a compiler unrolls, and of what PoCL's compiler says of plans. */
class UnrolledPlansTest {
    private static final LoopIndex ROW = LoopIndex.of("row");

    /** Rows and columns of incomplete tiles, the columns as vectors. */
    private static final KernelPlan ROWS = product("rows", 5, 1);

    /** Two unrolled loops in one tile, with a copy between them, and one inside of both. */
    private static final KernelPlan COPIES = copies();

    /** A loop of one iteration more than compilers are to unroll. */
    private static final KernelPlan LONG = product("too_long", 65, 65);

    private static final KernelPlan LONGEST_UNROLLED = product("unrolled", 64, 64);

    private static final KernelPlan ITERATIONS_THAT_END_POCL = product("ending", 4_096, 4_096);

    private static final KernelPlan BARRIER = aroundBarrier();
    private static final KernelPlan BARRIER_IN_TILE = barrierInTile();
    private static final KernelPlan BUFFERED = buffered("buffered", 11);
    private static final KernelPlan TILES_OF_BUFFER = buffered("tiles_of_buffer", 12);

    private static final List<KernelPlan> SHORT =
            List.of(ROWS, COPIES, BARRIER, BARRIER_IN_TILE, BUFFERED, TILES_OF_BUFFER);

    private static KernelPlan product(String name, int inner, int tile) {
        Products products = Products.of(7, 9, inner).named(name);
        return KernelPlan.of(products.nest()
                        .schedule()
                        .tile(I.by(4), J.by(4), K.by(tile))
                        .reorder(I, J, K, KK, II, JJ)
                        .unroll(tile == 1 ? II : KK)
                        .vectorize(JJ))
                .bind(I, ParallelAxis.GROUP_X)
                .cache(ArrayCache.of(products.c())
                        .index(K)
                        .location(MemoryLocation.PRIVATE)
                        .build());
    }

    private static KernelPlan copies() {
        Products products = Products.of(23, 9, 5).named("copies");
        return KernelPlan.of(products.nest()
                        .schedule()
                        .split(I, 8)
                        .split(II, 3, ROW)
                        .reorder(I, II, J, ROW, K)
                        .unroll(II, ROW))
                .bind(J, ParallelAxis.ITEM_X)
                .cache(ArrayCache.of(products.c())
                        .index(J)
                        .location(MemoryLocation.PRIVATE)
                        .build())
                .cache(ArrayCache.of(products.a())
                        .index(K)
                        .location(MemoryLocation.PRIVATE)
                        .notThrifty()
                        .build());
    }

    /** Returns a plan with barriers in each of the unrolled iterations over tiles. */
    private static KernelPlan aroundBarrier() {
        Products products = Products.of(5, 5, 12).named("around_barrier");
        return KernelPlan.of(products.nest()
                        .schedule()
                        .split(K, 4)
                        .reorder(K, I, J, KK)
                        .unroll(K))
                .bind(J, ParallelAxis.ITEM_X)
                .cache(ArrayCache.of(products.b())
                        .index(I)
                        .location(MemoryLocation.LOCAL)
                        .build());
    }

    /** Returns a plan with a barrier in a loop that has fewer iterations in an incomplete tile. */
    private static KernelPlan barrierInTile() {
        Products products = Products.of(11, 5, 5).named("barrier_in_tile");
        return KernelPlan.of(products.nest()
                        .schedule()
                        .split(I, 4)
                        .reorder(I, II, J, K)
                        .unroll(II))
                .bind(J, ParallelAxis.ITEM_X)
                .cache(ArrayCache.of(products.b())
                        .index(K)
                        .location(MemoryLocation.LOCAL)
                        .build());
    }

    /** Returns a plan with a double buffer along an unrolled loop in tiles of 4. */
    private static KernelPlan buffered(String name, int rows) {
        Products products = Products.of(rows, 5, 7).named(name);
        return KernelPlan.of(products.nest()
                        .schedule()
                        .split(I, 4)
                        .reorder(I, II, J, K)
                        .unroll(II))
                .cache(ArrayCache.of(products.a())
                        .index(J)
                        .location(MemoryLocation.PRIVATE)
                        .doubleBuffered()
                        .build());
    }

    private static long hints(KernelPlan plan) {
        return plan.source().lines().filter("#pragma unroll"::equals).count();
    }

    @Test
    @DisplayName("a compiler is to unroll loops with a constant number of iterations only, of"
            + " which there are not too many")
    void hints() {
        assertEquals(1, hints(ROWS), ROWS::source);
        assertEquals(2, hints(COPIES), COPIES::source);
        assertEquals(0, hints(LONG), LONG::source);
        assertEquals(1, hints(LONGEST_UNROLLED), LONGEST_UNROLLED::source);
        assertEquals(0, hints(ITERATIONS_THAT_END_POCL), ITERATIONS_THAT_END_POCL::source);
        assertEquals(0, hints(BARRIER), BARRIER::source);
        assertEquals(0, hints(BARRIER_IN_TILE), BARRIER_IN_TILE::source);
        assertEquals(0, hints(BUFFERED), BUFFERED::source);
        assertEquals(1, hints(TILES_OF_BUFFER), TILES_OF_BUFFER::source);
    }

    @Test
    @NeedsPocl
    @DisplayName("unrolled loops compute what their nests say, also in incomplete tiles")
    void results() throws Exception {
        try (PlanHarness harness = new PlanHarness()) {
            harness.check(SHORT);
        }
    }

    private static void assertSilent(List<KernelPlan> plans) {
        String source = plans.stream().map(KernelPlan::source).collect(Collectors.joining("\n"));
        assertEquals("", BuildLogs.of(source), source);
    }

    @Test
    @NeedsPocl
    @DisplayName("PoCL's compiler has no warning for unrolled loops, and for kernels of other"
            + " nests")
    void silent() {
        assertSilent(SHORT);
        assertSilent(OtherPlans.all());
    }

    @Test
    @NeedsPocl
    @Tag("exhaustive")
    @DisplayName("PoCL compiles unrolled loops of many iterations, which compute what their"
            + " nests say, and has no warning")
    void many() throws Exception {
        List<KernelPlan> plans = List.of(LONG, LONGEST_UNROLLED, ITERATIONS_THAT_END_POCL);
        assertSilent(plans);
        try (PlanHarness harness = new PlanHarness()) {
            harness.check(plans);
        }
    }

    @Test
    @NeedsPocl
    @Tag("exhaustive")
    @DisplayName(
            "PoCL's compiler has no warning for all caches, and for hundreds of random" + " plans")
    void everythingSilent() {
        assertSilent(ProductPlans.of(new int[] {13, 19, 11}));
        TestRuns.numbers(75)
                .mapToObj(number -> "silent" + number)
                .map(name -> new PlanGenerator(TestSeed.random(name), name).plan())
                .forEach(plan -> assertSilent(List.of(plan)));
    }
}
