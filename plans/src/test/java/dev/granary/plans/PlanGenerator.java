package dev.granary.plans;

import dev.granary.plans.ArrayCache.CopyStrategy;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.IndexExpression;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.KernelArray.ArrayLayout;
import dev.granary.plans.nest.KernelArray.ArrayRole;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.nest.LoopNest.UpdateOperator;
import dev.granary.plans.nest.LoopSchedule;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;
import dev.granary.plans.nest.ValueExpression;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A generator of random nests, schedules and plans. Calls that a plan refuses are left out, so each
 * plan is valid.
 */
final class PlanGenerator {
    private static final int[] SIZES = {1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 16, 17, 19};
    private static final int MAX_GROUP_ITEMS = 64;
    private static final LoopIndex I = LoopIndex.of("i");
    private static final LoopIndex J = LoopIndex.of("j");
    private static final LoopIndex K = LoopIndex.of("k");

    private final SplittableRandom random;
    private final String name;
    private int refused;
    private int accepted;

    /**
     * Creates a generator.
     *
     * @param name the name of the kernels
     */
    PlanGenerator(SplittableRandom random, String name) {
        this.random = random;
        this.name = name;
    }

    /** Returns the caches that plans accepted and refused. */
    String counts() {
        return accepted + " caches, " + refused + " refused";
    }

    KernelPlan plan() {
        KernelPlan plan = KernelPlan.of(schedule(nest()));
        plan = bound(plan);
        List<KernelArray> arrays = plan.arguments();
        for (KernelArray array : arrays) {
            @Nullable ArrayCache source = null;
            for (int depth = 0; depth < 3 && random.nextInt(3) > 0; depth++) {
                try {
                    ArrayCache cache = cache(plan, array, source);
                    plan = plan.cache(cache);
                    source = cache;
                    accepted++;
                } catch (IllegalArgumentException e) {
                    refused++;
                }
            }
        }
        return plan;
    }

    private <T> T one(List<T> values) {
        return values.get(random.nextInt(values.size()));
    }

    private boolean chance(int of) {
        return random.nextInt(of) == 0;
    }

    private int size() {
        return SIZES[random.nextInt(SIZES.length)];
    }

    private KernelArray array(String name, ArrayRole role, int... shape) {
        KernelArray array = KernelArray.of(name, role, one(List.of(ElementType.values())), shape);
        return switch (random.nextInt(4)) {
            case 0 -> array.layout(ArrayLayout.LAST_MAJOR);
            case 1 -> array.layout(padded(shape));
            default -> array;
        };
    }

    /** Returns a layout with gaps. */
    private ArrayLayout padded(int... shape) {
        long[] strides = new long[shape.length];
        long stride = 1;
        for (int r = shape.length - 1; r >= 0; r--) {
            strides[r] = stride;
            stride *= shape[r] + random.nextInt(2);
        }
        return ArrayLayout.coefficients(strides);
    }

    private ArrayRole source() {
        return chance(3) ? ArrayRole.CONSTANT : ArrayRole.INPUT;
    }

    private LoopNest nest() {
        int m = size();
        int n = size();
        int k = size();
        LoopNest.Builder nest = LoopNest.named(name).loop(I, m).loop(J, n);
        return switch (random.nextInt(8)) {
            case 0, 1 -> { // a product of matrices
                KernelArray a = array("A", source(), m, k);
                KernelArray b = array("B", source(), k, n);
                KernelArray c = array("C", ArrayRole.INPUT_OUTPUT, m, n);
                yield nest.loop(K, k).logic(c.at(I, J).add(a.at(I, K).times(b.at(K, J))));
            }
            case 2 -> { // elementwise
                KernelArray a = array("A", source(), m, n);
                KernelArray c = array("C", ArrayRole.OUTPUT, m, n);
                yield nest.logic(c.at(I, J).set(a.at(I, J).plus(ValueExpression.number(2))));
            }
            case 3 -> { // a reduction of three arrays
                KernelArray a = array("A", source(), m, n);
                KernelArray b = array("B", source(), n);
                KernelArray d = array("D", source(), k, m);
                KernelArray c = array("C", ArrayRole.TEMPORARY, m);
                yield nest.loop(K, k)
                        .logic(c.at(I).add(a.at(I, J).times(b.at(J)).times(d.at(K, I))));
            }
            case 4 -> { // a convolution
                int taps = 1 + random.nextInt(4);
                KernelArray a = array("A", source(), m + taps - 1, n);
                KernelArray b = array("B", source(), taps);
                KernelArray c = array("C", ArrayRole.INPUT_OUTPUT, m, n);
                IndexExpression row = chance(2) ? I.plus(K) : I.minus(K).plus(taps - 1);
                yield nest.loop(K, taps).logic(c.at(I, J).add(a.at(row, J).times(b.at(K))));
            }
            case 5 -> { // places with gaps, backwards
                KernelArray a = array("A", source(), 2 * m + 1, n);
                KernelArray c = array("C", ArrayRole.INPUT_OUTPUT, 2 * m, 3 * n);
                IndexExpression row = I.times(-2).plus(2L * m - 1);
                yield nest.logic(
                        c.at(row, J.times(3)).set(a.at(I.times(2), J).plus(a.at(I.plus(1), J))));
            }
            case 6 -> { // the largest or smallest
                KernelArray a = array("A", source(), k, m, n);
                KernelArray c = array("C", ArrayRole.INPUT_OUTPUT, n, m);
                UpdateOperator operator = chance(2) ? UpdateOperator.MIN : UpdateOperator.MAX;
                yield nest.loop(K, k).logic(c.at(J, I).update(operator, a.at(K, I, J)));
            }
            default -> { // neighbours, and the former value
                KernelArray a = array("A", source(), m + 2, n);
                KernelArray c = array("C", ArrayRole.INPUT_OUTPUT, m, n);
                ValueExpression sum = a.at(I, J).plus(a.at(I.plus(2), J)).minus(c.at(I, J));
                yield nest.logic(c.at(I, J).add(sum));
            }
        };
    }

    private LoopSchedule schedule(LoopNest nest) {
        LoopSchedule schedule = nest.schedule();
        int splits = random.nextInt(5);
        for (int i = 0; i < splits; i++) {
            LoopIndex index = one(schedule.order());
            schedule = schedule.split(index, 1 + random.nextInt(6), LoopIndex.of("t" + i));
        }
        schedule = schedule.reorder(shuffled(schedule));
        if (chance(3)) {
            schedule = schedule.unroll(one(schedule.order()));
        }
        if (chance(3)) {
            try {
                LoopIndex last = schedule.order().getLast();
                if (schedule.loop(last).step() == 1
                        && schedule.loopsOf(schedule.loop(last).dimension())
                                        .getLast()
                                        .index()
                                == last
                        && chance(2)) {
                    schedule = schedule.split(last, 4, LoopIndex.of("v"));
                    last = LoopIndex.of("v");
                }
                schedule = schedule.vectorize(last);
            } catch (IllegalArgumentException e) {
                return schedule;
            }
        }
        return schedule;
    }

    /** Returns a random order in which loops over tiles are outside of those in a tile. */
    private LoopIndex[] shuffled(LoopSchedule schedule) {
        List<ScheduledLoop> left = new ArrayList<>(schedule.loops());
        List<LoopIndex> order = new ArrayList<>();
        while (!left.isEmpty()) {
            ScheduledLoop next = one(left);
            ScheduledLoop outermost = left.stream()
                    .filter(loop -> loop.dimension().equals(next.dimension()))
                    .findFirst()
                    .orElseThrow();
            left.remove(outermost);
            order.add(outermost.index());
        }
        return order.toArray(LoopIndex[]::new);
    }

    private KernelPlan bound(KernelPlan unbound) {
        KernelPlan plan = unbound;
        for (LoopIndex index : plan.schedule().order()) {
            if (chance(2)) {
                try {
                    KernelPlan more = plan.bind(index, one(Arrays.asList(ParallelAxis.values())));
                    if (more.report().groupItems() <= MAX_GROUP_ITEMS) {
                        plan = more;
                    }
                } catch (IllegalArgumentException e) {
                    refused++; // taken, or a sum of several work-items
                }
            }
        }
        return plan;
    }

    private ArrayCache cache(KernelPlan plan, KernelArray array, @Nullable ArrayCache source) {
        ArrayCache.Builder cache = source == null ? ArrayCache.of(array) : ArrayCache.of(source);
        int loops = plan.schedule().order().size();
        int level = 1 + random.nextInt(loops);
        boolean isBudget = source == null ? chance(4) : source.maxElements() != null;
        if (isBudget) {
            cache.maxElements(1 + random.nextInt(60));
        } else if (chance(2)) {
            cache.level(level);
        } else {
            cache.index(plan.schedule().order().get(loops - level));
        }
        if (array.role().isReadOnly()) {
            if (chance(3) && !isBudget) {
                cache.triggerLevel(Math.min(loops, level + random.nextInt(3)));
            }
            if (chance(3)) {
                cache.doubleBuffered();
            }
        }
        switch (random.nextInt(5)) {
            case 0, 1, 2 -> cache.location(MemoryLocation.LOCAL);
            case 3 -> cache.location(MemoryLocation.PRIVATE);
            default -> {}
        }
        if (chance(4) && array.role().isReadOnly()) {
            cache.location(MemoryLocation.LOCAL).doubleBuffered();
            cache.doubleBufferLocation(MemoryLocation.LOCAL);
        }
        if (chance(3)) {
            cache.layout(chance(2) ? ArrayLayout.FIRST_MAJOR : ArrayLayout.LAST_MAJOR);
        }
        if (chance(4)) {
            // sums exceed what an INT8 holds
            cache.elementType(one(
                    array.role().isReadOnly()
                            ? List.of(ElementType.values())
                            : array.type() == ElementType.INT8
                                    ? List.of(ElementType.INT32)
                                    : List.of(ElementType.FLOAT, ElementType.INT32)));
        }
        if (chance(3)) {
            cache.notThrifty();
        }
        if (chance(2)) {
            cache.strategy(CopyStrategy.BLOCKED);
        }
        if (chance(2)) {
            cache.vectorized();
        }
        return cache.build();
    }
}
