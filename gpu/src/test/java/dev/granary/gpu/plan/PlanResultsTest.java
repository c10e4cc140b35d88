package dev.granary.gpu.plan;

import static dev.granary.gpu.plan.Products.I;
import static dev.granary.gpu.plan.Products.II;
import static dev.granary.gpu.plan.Products.J;
import static dev.granary.gpu.plan.Products.JJ;
import static dev.granary.gpu.plan.Products.K;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClKernels;
import dev.granary.gpu.plan.nest.ArrayLayout;
import dev.granary.gpu.plan.nest.ArrayRole;
import dev.granary.gpu.plan.nest.ElementType;
import dev.granary.gpu.plan.nest.KernelArray;
import dev.granary.gpu.plan.nest.LoopIndex;
import dev.granary.gpu.plan.nest.LoopNest;
import dev.granary.gpu.plan.nest.ValueExpression;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;

/**
 * Tests of the results of plans on PoCL against the scalar reference: by default on one size that
 * no tile divides, exhaustively on all sizes.
 */
@NeedsPocl
class PlanResultsTest {
    private static final int[] UNEVEN = {13, 19, 11};
    private static final List<int[]> SIZES = List.of(
            new int[] {127, 251, 11}, new int[] {31, 37, 41}, new int[] {1, 1, 1}, new int[] {
                32, 64, 16
            });

    private final PlanHarness harness = new PlanHarness(TestSeed.random("plans"));

    @AfterEach
    void close() {
        harness.close();
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

    /** Returns plans with caches that are left out where, or in the tiles in which, that is right. */
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

    /** Returns nests other than products. */
    private static List<KernelPlan> others() {
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
        return List.of(tiled, reduction, elementwise, rewritten());
    }

    /** Returns a plan whose local block is assigned anew in each iteration. */
    private static KernelPlan rewritten() {
        KernelArray from = KernelArray.input("A", ElementType.FLOAT, 61, 13);
        KernelArray to = KernelArray.output("C", ElementType.INT32, 61, 13);
        return KernelPlan.of(LoopNest.named("rewritten")
                        .loop(J, 13)
                        .loop(I, 61)
                        .logic(to.at(I, J).set(from.at(I, J).plus(ValueExpression.number(2))))
                        .schedule()
                        .split(I, 4))
                .bind(I, ParallelAxis.ITEM_X)
                .cache(ArrayCache.of(to)
                        .index(I)
                        .location(MemoryLocation.LOCAL)
                        .build());
    }

    private static List<KernelPlan> all(int[] size) {
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

    @Test
    @DisplayName("P5 sizes that no tile divides: a sample of the caches by level, index and budget,"
            + " hierarchical, multiple and double buffered, of each layout and type")
    void sample() throws Exception {
        List<KernelPlan> plans = new ArrayList<>(all(UNEVEN));
        SplittableRandom random = TestSeed.random("sample of plans");
        while (plans.size() > 20) {
            plans.remove(random.nextInt(plans.size()));
        }
        harness.check(plans);
    }

    @Test
    @DisplayName("P5 a convolution with a cache of a cache, a reduction, and functions on vectors")
    void otherNests() throws Exception {
        harness.check(others());
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("P5 all caches on sizes that no tile divides, primes, one, and even sizes")
    void everything() throws Exception {
        harness.check(all(UNEVEN));
        for (int[] size : SIZES) {
            harness.check(all(size));
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName(
            "P5 the example of Accera's manual: 1024 x 1024 x 1024 in tiles of 32, 64, 128 with"
                    + " a double buffer")
    void manual() throws Exception {
        int n = 1024;
        Products products = Products.of(n, n, n);
        KernelPlan plan = KernelPlan.of(products.tiled(32, 64, 128))
                .cache(ArrayCache.of(products.a()).index(II).doubleBuffered().build());
        SplittableRandom random = TestSeed.random("manual");
        float[] a = new float[n * n];
        float[] b = new float[n * n];
        for (int i = 0; i < n * n; i++) {
            a[i] = random.nextInt(-2, 3);
            b[i] = random.nextInt(-2, 3);
        }
        float[] found = new float[n * n];
        var engine = harness.engine();
        try (OpenClKernels kernels = engine.load(engine.create(
                        plan.descriptor(engine.target(), engine.device().limits())));
                OpenClBuffer ofA = engine.bufferOf(a);
                OpenClBuffer ofB = engine.bufferOf(b);
                OpenClBuffer ofC = engine.bufferOf(found)) {
            kernels.launch(plan.name(), plan.geometry(), ofA, ofB, ofC);
            ofC.read(found);
        }
        float[] row = new float[n];
        for (int i = 0; i < n; i++) {
            Arrays.fill(row, 0);
            for (int k = 0; k < n; k++) {
                for (int j = 0; j < n; j++) {
                    row[j] += a[i * n + k] * b[k * n + j];
                }
            }
            for (int j = 0; j < n; j++) {
                assertEquals(row[j], found[i * n + j]);
            }
        }
        assertTrue(plan.source().contains("A_next"));
    }
}
