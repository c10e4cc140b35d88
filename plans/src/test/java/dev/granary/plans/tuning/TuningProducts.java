package dev.granary.plans.tuning;

import dev.granary.plans.ArrayCache;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.ParallelAxis;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.tuning.PlanSpace.PlanParameters;

/** Spaces of plans for small products of matrices. */
final class TuningProducts {
    static final LoopIndex I = LoopIndex.of("i");
    static final LoopIndex J = LoopIndex.of("j");
    static final LoopIndex K = LoopIndex.of("k");

    private TuningProducts() {}

    private static KernelArray a(int size) {
        return KernelArray.input("A", ElementType.FLOAT, size, size);
    }

    private static KernelArray c(int size) {
        return KernelArray.inputOutput("C", ElementType.FLOAT, size, size);
    }

    static LoopNest nest(int size) {
        KernelArray b = KernelArray.input("B", ElementType.FLOAT, size, size);
        return LoopNest.named("gemm")
                .loop(I, size)
                .loop(J, size)
                .loop(K, size)
                .logic(c(size).at(I, J).add(a(size).at(I, K).times(b.at(K, J))));
    }

    /**
     * Returns a space with tiles of 4, 8 and 16 for both dimensions, and a cache of A in local
     * memory or none.
     */
    static PlanSpace tiles(int size) {
        return PlanSpace.of(nest(size))
                .parameter("ti", 4, 8, 16)
                .parameter("tj", 4, 8, 16)
                .parameter("cached", true, false)
                .where("ti * tj <= 128")
                .plans(values -> plan(size, values));
    }

    /** Returns a space of four plans. */
    static PlanSpace few(int size) {
        return PlanSpace.of(nest(size))
                .parameter("ti", 4, 8)
                .parameter("tj", 8)
                .parameter("cached", true, false)
                .plans(values -> plan(size, values));
    }

    static KernelPlan plan(int size, PlanParameters values) {
        KernelPlan plan = tiled(size, values.number("ti"), values.number("tj"));
        return values.flag("cached")
                ? plan.cache(ArrayCache.of(a(size))
                        .index(I.inner())
                        .location(MemoryLocation.LOCAL)
                        .build())
                : plan;
    }

    static KernelPlan tiled(int size, int ti, int tj) {
        return KernelPlan.of(nest(size)
                        .schedule()
                        .tile(I.by(ti), J.by(tj))
                        .reorder(I, J, K, I.inner(), J.inner()))
                .bind(I, ParallelAxis.GROUP_Y)
                .bind(J, ParallelAxis.GROUP_X)
                .bind(I.inner(), ParallelAxis.ITEM_Y)
                .bind(J.inner(), ParallelAxis.ITEM_X);
    }

    /** Returns a plan of which the sums overflow: they are kept as 8-bit integers. */
    static KernelPlan wrong(int size) {
        return tiled(size, 4, 4)
                .cache(ArrayCache.of(c(size))
                        .index(K)
                        .elementType(ElementType.INT8)
                        .location(MemoryLocation.PRIVATE)
                        .build());
    }
}
