package dev.granary.benchmarks.plans;

import dev.granary.plans.ArrayCache;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.ParallelAxis;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.nest.LoopSchedule;
import dev.granary.plans.tuning.PlanSpace;
import dev.granary.plans.tuning.PlanSpace.PlanParameters;

import java.util.LinkedHashMap;
import java.util.SequencedMap;

/**
 * Plans of a product of two matrices, {@code C[i, j] += A[i, k] * B[k, j]}, of floats in row order.
 *
 * @param m the rows of A and C
 * @param n the columns of B and C
 * @param k the columns of A and the rows of B
 */
record ProductPlans(int m, int n, int k) {
    private static final LoopIndex I = LoopIndex.of("i");
    private static final LoopIndex J = LoopIndex.of("j");
    private static final LoopIndex K = LoopIndex.of("k");
    private static final LoopIndex II = I.inner();
    private static final LoopIndex JJ = J.inner();
    private static final LoopIndex KK = K.inner();
    private static final LoopIndex LANE = LoopIndex.of("lane");
    private static final int TILE = 16;
    private static final int DEPTH = 8;

    private KernelArray a() {
        return KernelArray.input("A", ElementType.FLOAT, m, k);
    }

    private KernelArray b() {
        return KernelArray.input("B", ElementType.FLOAT, k, n);
    }

    private KernelArray c() {
        return KernelArray.inputOutput("C", ElementType.FLOAT, m, n);
    }

    LoopNest nest() {
        return LoopNest.named("gemm")
                .loop(I, m)
                .loop(J, n)
                .loop(K, k)
                .logic(c().at(I, J).add(a().at(I, K).times(b().at(K, J))));
    }

    /** Returns the plans that a person writes one after the other. */
    SequencedMap<String, KernelPlan> byHand() {
        KernelPlan tiled = KernelPlan.of(nest().schedule()
                        .tile(I.by(TILE), J.by(TILE), K.by(DEPTH))
                        .reorder(I, J, K, II, JJ, KK))
                .bind(I, ParallelAxis.GROUP_Y)
                .bind(J, ParallelAxis.GROUP_X)
                .bind(II, ParallelAxis.ITEM_Y)
                .bind(JJ, ParallelAxis.ITEM_X);
        KernelPlan sums = tiled.cache(
                ArrayCache.of(c()).index(K).location(MemoryLocation.PRIVATE).build());
        SequencedMap<String, KernelPlan> plans = new LinkedHashMap<>();
        plans.put("tiled", tiled);
        plans.put("cached", sums.cache(local(a()).build()).cache(local(b()).build()));
        plans.put(
                "double-buffered",
                sums.cache(local(a()).doubleBuffered().build())
                        .cache(local(b()).doubleBuffered().build()));
        return plans;
    }

    private static ArrayCache.Builder local(KernelArray array) {
        return ArrayCache.of(array).index(II).location(MemoryLocation.LOCAL);
    }

    /**
     * Returns the space of the tuner. A work-item computes a block of C in registers, by vectors.
     * Work-groups have one work-item, as suits processors, or a row or column of them. B is read
     * from global memory, or from a block in private or local memory.
     */
    PlanSpace space() {
        return PlanSpace.of(nest())
                .parameter("rows", 2, 4, 6, 8)
                .parameter("vectors", 1, 2, 3, 4)
                .parameter("lanes", 4, 8, 16)
                .parameter("depth", 1, 4, 16, 64)
                .parameter("items", 1, 4, 16)
                .parameter("across", false, true)
                .parameter("b", "global", "private", "local")
                // registers of the sums
                .where("rows * vectors <= 16")
                .where("rows * vectors >= 4")
                .where("depth > 1 or b == 'global'")
                .where("items > 1 or across == 'false'")
                .where("items > 1 or b != 'local'")
                .plans(this::plan);
    }

    private KernelPlan plan(PlanParameters values) {
        int rows = values.number("rows");
        int columns = values.number("vectors") * values.number("lanes");
        int items = values.number("items");
        int depth = values.number("depth");
        LoopIndex row = LoopIndex.of("row");
        LoopIndex column = LoopIndex.of("column");
        boolean isAcross = values.flag("across");
        LoopSchedule schedule = nest().schedule()
                .split(I, isAcross ? rows : rows * items, II)
                .split(II, rows, row)
                .split(J, isAcross ? columns * items : columns, JJ)
                .split(JJ, columns, column)
                .split(column, values.number("lanes"), LANE)
                .split(K, depth, KK)
                .reorder(I, J, II, JJ, K, KK, row, column, LANE)
                .unroll(row, column)
                .vectorize(LANE);
        KernelPlan plan = KernelPlan.of(schedule)
                .bind(I, ParallelAxis.GROUP_Y)
                .bind(J, ParallelAxis.GROUP_X)
                .bind(isAcross ? JJ : II, ParallelAxis.ITEM_X)
                .cache(ArrayCache.of(c())
                        .index(K)
                        .location(MemoryLocation.PRIVATE)
                        .build());
        return switch (values.text("b")) {
            case "private" ->
                plan.cache(ArrayCache.of(b())
                        .index(KK)
                        .location(MemoryLocation.PRIVATE)
                        .build());
            case "local" ->
                plan.cache(ArrayCache.of(b())
                        .index(KK)
                        .location(MemoryLocation.LOCAL)
                        .build());
            default -> plan;
        };
    }

    /** Returns the number of floating-point operations of one product. */
    double operations() {
        return 2.0 * m * n * k;
    }

    @Override
    public String toString() {
        return m + " x " + n + " x " + k;
    }
}
