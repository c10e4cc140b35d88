package dev.granary.plans;

import static dev.granary.plans.Products.I;
import static dev.granary.plans.Products.II;
import static dev.granary.plans.Products.J;
import static dev.granary.plans.Products.JJ;
import static dev.granary.plans.Products.K;

import dev.granary.plans.ArrayCache.CopyStrategy;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.KernelArray.ArrayLayout;

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** The plans of products that tests compare with the reference: each way to place caches. */
final class ProductPlans {
    private ProductPlans() {}

    /** Returns the plans for the rows, columns and summands of a product. */
    static List<KernelPlan> of(int[] size) {
        List<KernelPlan> plans = new ArrayList<>();
        plans.addAll(placements(size, false));
        plans.addAll(placements(size, true));
        plans.addAll(hierarchies(size));
        plans.addAll(multiples(size));
        plans.addAll(thrifty(size));
        plans.addAll(doubleBuffers(size));
        plans.addAll(layouts(size));
        plans.addAll(types(size));
        plans.addAll(vectors(size));
        return plans;
    }

    /** Returns a plan for each way to place caches. */
    private static List<KernelPlan> placements(int[] size, boolean isLocal) {
        UnaryOperator<ArrayCache.Builder> place =
                cache -> isLocal ? cache.location(MemoryLocation.LOCAL) : cache.notThrifty();
        List<KernelPlan> plans = new ArrayList<>();
        for (int level = 1; level <= 6; level++) {
            int of = level;
            Products products = products(size, isLocal + "_level" + level);
            KernelPlan plan = base(products, isLocal);
            for (KernelArray array : products.arrays()) {
                plan = plan.cache(place.apply(ArrayCache.of(array)).level(of).build());
            }
            plans.add(plan);
        }
        long all = (long) size[0] * size[2];
        for (long budget : new long[] {128, 1, all, 2 * all}) {
            Products products = products(size, isLocal + "_budget" + budget + "_" + plans.size());
            KernelPlan plan = base(products, isLocal);
            for (KernelArray array : products.arrays()) {
                plan = plan.cache(
                        place.apply(ArrayCache.of(array)).maxElements(budget).build());
            }
            plans.add(plan);
        }
        return plans;
    }

    private static Products products(int[] size, String name) {
        return Products.of(size[0], size[1], size[2]).named("gemm_" + name);
    }

    private static KernelPlan base(Products products, boolean isBound) {
        return isBound ? products.bound(4, 8, 4) : KernelPlan.of(products.tiled(4, 8, 4));
    }

    /** Returns plans of caches of caches, of two and three levels, and their boundaries. */
    private static List<KernelPlan> hierarchies(int[] size) {
        List<KernelPlan> plans = new ArrayList<>();
        for (int depth = 2; depth <= 3; depth++) {
            for (boolean isBudget : new boolean[] {false, true}) {
                Products products = products(size, "depth" + depth + (isBudget ? "budget" : ""));
                KernelPlan plan = products.bound(4, 8, 4);
                for (KernelArray array : products.arrays()) {
                    ArrayCache.Builder next = ArrayCache.of(array).location(MemoryLocation.LOCAL);
                    for (int i = 0; i < depth; i++) {
                        ArrayCache cache = (isBudget
                                        ? next.maxElements(100 >> i)
                                        : next.level(4 - i))
                                .notThrifty()
                                .build();
                        plan = plan.cache(cache);
                        next = ArrayCache.of(cache);
                    }
                }
                plans.add(plan);
            }
        }
        return plans;
    }

    /** Returns plans whose trigger has none, all, and some of the loops outside of it. */
    private static List<KernelPlan> multiples(int[] size) {
        List<KernelPlan> plans = new ArrayList<>();
        for (int trigger = 2; trigger <= 6; trigger++) {
            for (boolean isLocal : new boolean[] {true, false}) {
                Products products = products(size, "trigger" + trigger + isLocal);
                KernelPlan plan = base(products, isLocal);
                for (KernelArray array : List.of(products.a(), products.b())) {
                    ArrayCache.Builder cache =
                            ArrayCache.of(array).level(2).triggerLevel(trigger).notThrifty();
                    if (isLocal) {
                        cache.location(MemoryLocation.LOCAL);
                    }
                    if (trigger % 2 == 0) {
                        cache.doubleBuffered();
                    }
                    plan = plan.cache(cache.build());
                }
                plans.add(plan);
            }
        }
        return plans;
    }

    /**
     * Returns plans with caches that are left out where, or in the tiles in which, that is right.
     */
    private static List<KernelPlan> thrifty(int[] size) {
        List<KernelPlan> plans = new ArrayList<>();
        for (int level = 2; level <= 5; level++) {
            Products products = products(size, "thrifty" + level);
            KernelPlan plan = KernelPlan.of(products.tiled(4, 9, 4));
            for (KernelArray array : products.arrays()) {
                plan = plan.cache(ArrayCache.of(array).level(level).build());
            }
            plans.add(plan);
        }
        return plans;
    }

    /** Returns plans with a double buffer in each memory, by each strategy. */
    private static List<KernelPlan> doubleBuffers(int[] size) {
        List<KernelPlan> plans = new ArrayList<>();
        for (CopyStrategy strategy : CopyStrategy.values()) {
            for (MemoryLocation buffer : List.of(MemoryLocation.LOCAL, MemoryLocation.PRIVATE)) {
                Products products = products(size, "buffer_" + strategy + buffer);
                KernelPlan plan = products.bound(4, 8, 4);
                for (KernelArray array : List.of(products.a(), products.b())) {
                    plan = plan.cache(ArrayCache.of(array)
                            .index(II)
                            .location(MemoryLocation.LOCAL)
                            .doubleBuffered()
                            .doubleBufferLocation(buffer)
                            .strategy(strategy)
                            .vectorized()
                            .build());
                }
                plans.add(plan);
            }
        }
        Products products = products(size, "buffer_private");
        plans.add(KernelPlan.of(products.tiled(4, 8, 4))
                .cache(ArrayCache.of(products.a()).index(II).doubleBuffered().build()));
        return plans;
    }

    /** Returns plans for each layout of arrays and caches. */
    private static List<KernelPlan> layouts(int[] size) {
        List<KernelPlan> plans = new ArrayList<>();
        List<ArrayLayout> kinds = List.of(ArrayLayout.FIRST_MAJOR, ArrayLayout.LAST_MAJOR);
        for (ArrayLayout array : kinds) {
            for (ArrayLayout cache : kinds) {
                Products products = products(size, "layout" + plans.size())
                        .layouts(array, array == kinds.get(0) ? kinds.get(1) : kinds.get(0), array);
                KernelPlan plan = products.bound(4, 8, 4);
                for (KernelArray each : products.arrays()) {
                    plan = plan.cache(ArrayCache.of(each)
                            .level(3)
                            .layout(cache)
                            .location(MemoryLocation.LOCAL)
                            .strategy(CopyStrategy.BLOCKED)
                            .vectorized()
                            .build());
                }
                plans.add(plan);
            }
        }
        Products products = products(size, "coefficients")
                .layouts(
                        ArrayLayout.coefficients(size[2] + 3L, 1),
                        ArrayLayout.coefficients(1, size[2] + 2L),
                        ArrayLayout.coefficients(2L * size[1] + 1, 2));
        plans.add(products.bound(4, 8, 4)
                .cache(ArrayCache.of(products.a())
                        .level(3)
                        .layout(ArrayLayout.coefficients(5, 1))
                        .location(MemoryLocation.LOCAL)
                        .build())
                .cache(ArrayCache.of(products.c())
                        .level(4)
                        .layout(ArrayLayout.coefficients(3, 40))
                        .location(MemoryLocation.LOCAL)
                        .build()));
        return plans;
    }

    /** Returns plans for arrays and caches of different element types. */
    private static List<KernelPlan> types(int[] size) {
        List<KernelPlan> plans = new ArrayList<>();
        for (ElementType array : ElementType.values()) {
            for (ElementType cache : ElementType.values()) {
                Products products = Products.of(size[0], size[1], size[2], array)
                        .named("gemm_" + array + "_in_" + cache);
                KernelPlan plan = products.bound(4, 8, 4);
                for (KernelArray each : products.arrays()) {
                    // sums exceed what an int8 holds
                    boolean isSum = each.equals(products.c());
                    plan = plan.cache(ArrayCache.of(each)
                            .level(isSum ? 4 : 3)
                            .elementType(
                                    isSum && cache == ElementType.INT8 ? ElementType.INT32 : cache)
                            .location(isSum ? MemoryLocation.PRIVATE : MemoryLocation.LOCAL)
                            .build());
                }
                plans.add(plan);
            }
        }
        return plans;
    }

    /** Returns plans with vectors, for each layout of the target. */
    private static List<KernelPlan> vectors(int[] size) {
        List<KernelPlan> plans = new ArrayList<>();
        for (ArrayLayout layout : List.of(ArrayLayout.FIRST_MAJOR, ArrayLayout.LAST_MAJOR)) {
            for (ElementType type : ElementType.values()) {
                Products products = Products.of(size[0], size[1], size[2], type)
                        .named("gemm_vector" + plans.size())
                        .layouts(layout, layout, layout);
                plans.add(KernelPlan.of(products.nest()
                                .schedule()
                                .tile(I.by(4), J.by(4))
                                .reorder(I, II, J, K, JJ)
                                .unroll(II)
                                .vectorize(JJ))
                        .bind(I, ParallelAxis.GROUP_X)
                        .bind(II, ParallelAxis.ITEM_X)
                        .cache(ArrayCache.of(products.c())
                                .index(K)
                                .location(MemoryLocation.PRIVATE)
                                .build()));
            }
        }
        return plans;
    }
}
