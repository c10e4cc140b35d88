package dev.granary.plans;

import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.KernelArray.ArrayLayout;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.nest.LoopSchedule;

import java.util.List;

/**
 * A product of matrices, the nest of most tests.
 *
 * @param name the name of the kernel
 * @param a the first factor
 * @param b the second factor
 * @param c the sum
 */
record Products(String name, KernelArray a, KernelArray b, KernelArray c) {
    static final LoopIndex I = LoopIndex.of("i");
    static final LoopIndex J = LoopIndex.of("j");
    static final LoopIndex K = LoopIndex.of("k");
    static final LoopIndex II = I.inner();
    static final LoopIndex JJ = J.inner();
    static final LoopIndex KK = K.inner();

    static Products of(int m, int n, int k) {
        return of(m, n, k, ElementType.FLOAT);
    }

    static Products of(int m, int n, int k, ElementType type) {
        return new Products(
                "gemm",
                KernelArray.input("A", type, m, k),
                KernelArray.input("B", type, k, n),
                KernelArray.inputOutput("C", type, m, n));
    }

    Products layouts(ArrayLayout ofA, ArrayLayout ofB, ArrayLayout ofC) {
        return new Products(name, a.layout(ofA), b.layout(ofB), c.layout(ofC));
    }

    Products named(String other) {
        return new Products(other, a, b, c);
    }

    LoopNest nest() {
        return LoopNest.named(name)
                .loop(I, c.shape().get(0))
                .loop(J, c.shape().get(1))
                .loop(K, a.shape().get(1))
                .logic(c.at(I, J).add(a.at(I, K).times(b.at(K, J))));
    }

    /** Returns the schedule i, j, k, ii, jj, kk. */
    LoopSchedule tiled(int m, int n, int k) {
        return nest().schedule().tile(I.by(m), J.by(n), K.by(k)).reorder(I, J, K, II, JJ, KK);
    }

    /** Returns the tiled plan with work-groups for i and j, and work-items for ii and jj. */
    KernelPlan bound(int m, int n, int k) {
        return KernelPlan.of(tiled(m, n, k))
                .bind(I, ParallelAxis.GROUP_Y)
                .bind(J, ParallelAxis.GROUP_X)
                .bind(II, ParallelAxis.ITEM_Y)
                .bind(JJ, ParallelAxis.ITEM_X);
    }

    List<KernelArray> arrays() {
        return List.of(a, b, c);
    }
}
