package dev.granary.demo.kernels;

import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.plan.ArrayCache;
import dev.granary.gpu.plan.KernelPlan;
import dev.granary.gpu.plan.MemoryLocation;
import dev.granary.gpu.plan.ParallelAxis;
import dev.granary.gpu.plan.nest.LoopIndex;
import dev.granary.gpu.plan.nest.LoopNest;
import dev.granary.gpu.plan.tuning.PlanParameters;
import dev.granary.gpu.plan.tuning.PlanSpace;
import dev.granary.gpu.plan.tuning.PlanTuner;
import dev.granary.gpu.plan.tuning.TuningSettings;

import java.time.Duration;

/**
 * The product of {@link MatrixMultiplyPlans} by the fastest plan of a small space. A work-item
 * computes a block of C: some rows of one vector, with the sums in private memory.
 */
public final class TunedMatrixMultiply {
    /** The name of the demo kernel. */
    public static final String NAME = "plan-gemm-tuned";

    /** The space has few plans, of which the tuner tries those that it can in this time. */
    private static final Duration BUDGET = Duration.ofMillis(1_500);

    private static final long SEED = 1;

    private static final LoopIndex I = MatrixMultiplyPlans.I;
    private static final LoopIndex J = MatrixMultiplyPlans.J;
    private static final LoopIndex K = MatrixMultiplyPlans.K;
    private static final LoopIndex ROW = LoopIndex.of("row");
    private static final LoopIndex LANE = LoopIndex.of("lane");
    private static final PlanSpace SPACE = newSpace();

    private TunedMatrixMultiply() {}

    /** Returns the space of plans. */
    public static PlanSpace space() {
        return SPACE;
    }

    private static PlanSpace newSpace() {
        LoopNest nest = MatrixMultiplyPlans.nest("gemm_tuned");
        return PlanSpace.of(nest)
                .parameter("rows", 2, 4, 8)
                .parameter("lanes", 4, 8)
                .parameter("items", 1, 4, 16)
                .plans(values -> plan(nest, values));
    }

    private static KernelPlan plan(LoopNest nest, PlanParameters values) {
        int lanes = values.number("lanes");
        return KernelPlan.of(nest.schedule()
                        .split(I, values.number("rows"), ROW)
                        .split(J, lanes * values.number("items"))
                        .split(J.inner(), lanes, LANE)
                        .reorder(I, J, J.inner(), K, ROW, LANE)
                        .unroll(ROW)
                        .vectorize(LANE))
                .bind(I, ParallelAxis.GROUP_Y)
                .bind(J, ParallelAxis.GROUP_X)
                .bind(J.inner(), ParallelAxis.ITEM_X)
                .cache(ArrayCache.of(MatrixMultiplyPlans.C)
                        .index(K)
                        .location(MemoryLocation.PRIVATE)
                        .build());
    }

    /** Returns a tuner for the device of an engine, which stays open. */
    public static PlanTuner tuner(KernelEngine<?> engine) {
        return PlanTuner.of(engine, PlanKernel.LIMITS, TuningSettings.of(BUDGET, SEED));
    }

    /** Returns the demo kernel of a plan of the space. */
    public static DemoKernel kernel(KernelPlan plan) {
        return MatrixMultiplyPlans.kernel(NAME, plan);
    }
}
