package dev.granary.plans;

import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The incomplete tiles in which the block of a cache is contiguous in its source, although that of
 * a complete tile is not: a block of several rows has one row there. They need no copy.
 *
 * @param dimensions the dimensions in which the block must have one element; empty if there are no
 *     such tiles
 */
record ThriftySection(List<NarrowDimension> dimensions) {
    /** No tiles. */
    static final ThriftySection NONE = new ThriftySection(List.of());

    /**
     * A dimension in which a block may have one element.
     *
     * @param elements the number of elements in a complete tile
     * @param limits the limits that leave one element, each for some values of the loops outside
     */
    record NarrowDimension(int elements, List<ActiveBlock.Limit> limits) {
        /** Returns the condition that one element is left, as an expression of C. */
        private String text() {
            String any = limits.stream()
                    .map(limit -> excess(limit, elements))
                    .map(excess -> excess.linear(_ -> true) + " >= " + -excess.constant())
                    .collect(Collectors.joining(" || "));
            return limits.size() == 1 ? any : "(" + any + ")";
        }
    }

    /**
     * Returns a sum that is 0 if a limit leaves one of that many elements; negative if it leaves
     * more, positive if it leaves none.
     */
    private static AffineIndex excess(ActiveBlock.Limit limit, int elements) {
        long last = limit.factor() > 0 ? 0 : elements - 1L; // offsets count from the last element
        return limit.base().add(AffineIndex.of(1 - limit.end() - last));
    }

    /**
     * Returns the section of a block.
     *
     * @param strides the distances of neighbours in the source
     * @param isContiguous true for sizes of a block that is contiguous in the source
     */
    static ThriftySection of(
            PlanLoops loops,
            ActiveBlock block,
            List<Long> strides,
            Predicate<List<Integer>> isContiguous) {
        List<Integer> sizes = new ArrayList<>(block.sizes());
        List<NarrowDimension> narrow = new ArrayList<>();
        List<Integer> farFirst = IntStream.range(0, sizes.size())
                .boxed()
                .sorted(Comparator.comparing((Integer r) -> strides.get(r)).reversed())
                .toList();
        for (int r : farFirst) {
            int elements = sizes.get(r);
            List<ActiveBlock.Limit> limits = block.limits().stream()
                    .filter(limit -> limit.dimension() == r && isReached(loops, limit, elements))
                    .toList();
            if (elements > 1 && !limits.isEmpty()) {
                narrow.add(new NarrowDimension(elements, limits));
                sizes.set(r, 1);
                if (isContiguous.test(sizes)) {
                    return new ThriftySection(List.copyOf(narrow));
                }
            }
        }
        return NONE;
    }

    /** Returns true if some values of the loops outside leave one element. */
    private static boolean isReached(PlanLoops loops, ActiveBlock.Limit limit, int elements) {
        AffineIndex excess = excess(limit, elements);
        long largest = excess.constant();
        BigInteger divisor = BigInteger.ZERO;
        for (Map.Entry<LoopIndex, Long> term : excess.terms().entrySet()) {
            ScheduledLoop loop = loops.schedule().loop(term.getKey());
            largest += Math.max(0, term.getValue() * loop.last());
            divisor = divisor.gcd(BigInteger.valueOf(term.getValue() * loop.step()));
        }
        return largest >= 0
                && divisor.signum() != 0
                && excess.constant() % divisor.longValueExact() == 0;
    }

    boolean isEmpty() {
        return dimensions.isEmpty();
    }

    /** Returns the condition on the loops outside of the cache as an expression of C. */
    String condition() {
        return dimensions.stream().map(NarrowDimension::text).collect(Collectors.joining(" && "));
    }
}
