package dev.granary.plans;

import static dev.granary.plans.Products.I;
import static dev.granary.plans.Products.J;
import static dev.granary.plans.Products.JJ;
import static dev.granary.plans.Products.K;

import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.KernelArray.ArrayRole;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.nest.LoopNest.UpdateOperator;
import dev.granary.plans.nest.ValueExpression;

import java.util.List;

/** Plans of other nests, and of shapes in which long runs found faults. */
final class OtherPlans {
    private OtherPlans() {}

    /** Returns the plans. */
    static List<KernelPlan> all() {
        LoopIndex x = LoopIndex.of("x");
        LoopIndex y = LoopIndex.of("y");
        LoopIndex u = LoopIndex.of("u");
        LoopIndex v = LoopIndex.of("v");
        KernelArray image = KernelArray.input("image", ElementType.FLOAT, 23, 29);
        KernelArray filter = KernelArray.of("filter", ArrayRole.CONSTANT, ElementType.FLOAT, 3, 5);
        KernelArray result = KernelArray.inputOutput("result", ElementType.FLOAT, 21, 25);
        LoopNest convolution = LoopNest.named("convolution")
                .loop(x, 21)
                .loop(y, 25)
                .loop(u, 3)
                .loop(v, 5)
                .logic(result.at(x, y).add(image.at(x.plus(u), y.plus(v)).times(filter.at(u, v))));
        ArrayCache tile =
                ArrayCache.of(image).index(u).location(MemoryLocation.LOCAL).build();
        KernelPlan tiled = KernelPlan.of(convolution
                        .schedule()
                        .tile(x.by(4), y.by(8))
                        .reorder(x, y, x.inner(), y.inner(), u, v))
                .bind(x, ParallelAxis.GROUP_Y)
                .bind(y, ParallelAxis.GROUP_X)
                .bind(x.inner(), ParallelAxis.ITEM_Y)
                .bind(y.inner(), ParallelAxis.ITEM_X)
                .cache(tile)
                .cache(ArrayCache.of(tile)
                        .index(v)
                        .location(MemoryLocation.PRIVATE)
                        .build())
                .cache(ArrayCache.of(filter)
                        .level(6)
                        .location(MemoryLocation.CONSTANT)
                        .build())
                .cache(ArrayCache.of(result).index(u).build());
        KernelArray d = KernelArray.input("D", ElementType.INT32, 7, 17);
        KernelArray sums = KernelArray.inputOutput("sums", ElementType.INT32, 17);
        KernelPlan reduction = KernelPlan.of(LoopNest.named("reduction")
                        .loop(x, 17)
                        .loop(y, 7)
                        .logic(sums.at(x).add(d.at(y, x).times(d.at(y, x))))
                        .schedule()
                        .split(x, 5))
                .bind(x.inner(), ParallelAxis.ITEM_X)
                .cache(ArrayCache.of(sums)
                        .level(3)
                        .location(MemoryLocation.LOCAL)
                        .build());
        KernelArray half = KernelArray.input("H", ElementType.HALF, 17);
        KernelArray out = KernelArray.output("out", ElementType.FLOAT, 17);
        KernelPlan elementwise = KernelPlan.of(LoopNest.named("elementwise")
                        .loop(x, 17)
                        .logic(out.at(x)
                                .set(half.at(x)
                                        .times(half.at(x))
                                        .sqrt()
                                        .exp()
                                        .dividedBy(half.at(x)
                                                .max(half.at(x).negated())
                                                .plus(ValueExpression.number(1)))))
                        .schedule()
                        .split(x, 8)
                        .vectorize(x.inner()))
                .bind(x, ParallelAxis.GROUP_X)
                .cache(ArrayCache.of(out).level(1).notThrifty().build());
        return List.of(
                tiled,
                reduction,
                elementwise,
                rewritten(),
                divergent(),
                nested(),
                bufferedBeforeBarriers(),
                interleaved());
    }

    /**
     * Returns a plan in which some work-items have no iteration after the last barrier of a loop.
     */
    private static KernelPlan divergent() {
        Products products = Products.of(2, 13, 4).named("divergent");
        return KernelPlan.of(products.nest()
                        .schedule()
                        .tile(J.by(2), K.by(2))
                        .reorder(J, JJ, K, I, Products.KK))
                .bind(J, ParallelAxis.GROUP_X)
                .bind(JJ, ParallelAxis.ITEM_Y)
                .bind(I, ParallelAxis.ITEM_Z)
                .cache(ArrayCache.of(products.b())
                        .index(I)
                        .location(MemoryLocation.LOCAL)
                        .build())
                .cache(ArrayCache.of(products.c())
                        .index(K)
                        .location(MemoryLocation.PRIVATE)
                        .build());
    }

    /** Returns a plan whose local block is assigned anew in each iteration. */
    private static KernelPlan rewritten() {
        KernelArray from = KernelArray.input("A", ElementType.FLOAT, 64, 13);
        KernelArray to = KernelArray.output("C", ElementType.INT32, 64, 13);
        return KernelPlan.of(LoopNest.named("rewritten")
                        .loop(J, 13)
                        .loop(I, 64)
                        .logic(to.at(I, J).set(from.at(I, J).plus(ValueExpression.number(2))))
                        .schedule()
                        .split(I, 4))
                .bind(I, ParallelAxis.ITEM_X)
                .cache(ArrayCache.of(to).index(I).location(MemoryLocation.LOCAL).build());
    }

    /** Returns a plan whose work-items differ in a first copy before a loop with barriers. */
    private static KernelPlan bufferedBeforeBarriers() {
        Products products = Products.of(7, 13, 19).named("buffered_before_barriers");
        return KernelPlan.of(products.nest()
                        .schedule()
                        .tile(I.by(6), J.by(4), K.by(4))
                        .reorder(I, K, J, Products.II, JJ, Products.KK))
                .bind(JJ, ParallelAxis.ITEM_Y)
                .cache(ArrayCache.of(products.a())
                        .maxElements(1)
                        .location(MemoryLocation.LOCAL)
                        .doubleBuffered()
                        .doubleBufferLocation(MemoryLocation.LOCAL)
                        .build())
                .cache(ArrayCache.of(products.b())
                        .level(2)
                        .location(MemoryLocation.PRIVATE)
                        .doubleBuffered()
                        .build());
    }

    /** Returns a plan with a copy for each work-item before an inner loop with barriers. */
    private static KernelPlan nested() {
        KernelArray from = KernelArray.input("A", ElementType.FLOAT, 5, 11, 8);
        KernelArray to = KernelArray.inputOutput("C", ElementType.INT8, 8, 11);
        ArrayCache block =
                ArrayCache.of(from).level(4).location(MemoryLocation.PRIVATE).build();
        return KernelPlan.of(LoopNest.named("nested")
                        .loop(K, 5)
                        .loop(J, 8)
                        .loop(I, 11)
                        .logic(to.at(J, I).update(UpdateOperator.MAX, from.at(K, I, J)))
                        .schedule()
                        .tile(K.by(4), J.by(4), I.by(6))
                        .reorder(K, J, Products.KK, I, JJ, Products.II))
                .bind(I, ParallelAxis.ITEM_Y)
                .cache(block)
                .cache(ArrayCache.of(block)
                        .level(3)
                        .location(MemoryLocation.PRIVATE)
                        .notThrifty()
                        .build())
                .cache(ArrayCache.of(to).level(3).location(MemoryLocation.LOCAL).build());
    }

    /**
     * Returns a plan whose block spans several tiles, each of which is split into tiles of which
     * the last is incomplete.
     */
    static KernelPlan interleaved() {
        KernelArray from = KernelArray.input("A", ElementType.INT8, 12, 16);
        KernelArray to = KernelArray.output("C", ElementType.FLOAT, 12, 16);
        return KernelPlan.of(LoopNest.named("interleaved")
                        .loop(I, 12)
                        .loop(J, 16)
                        .logic(to.at(I, J).set(from.at(I, J).plus(ValueExpression.number(2))))
                        .schedule()
                        .split(I, 3)
                        .split(Products.II, 2)
                        .reorder(I, J, Products.II, Products.II.inner()))
                .bind(I, ParallelAxis.ITEM_X)
                .bind(Products.II, ParallelAxis.GROUP_X)
                .cache(ArrayCache.of(from)
                        .index(Products.II.inner())
                        .location(MemoryLocation.LOCAL)
                        .build());
    }
}
