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
 */
final class ThriftySection {
    private ThriftySection() {}

    /**
     * Returns the condition on the loops outside of a block that such a tile satisfies, as an
     * expression of C; empty if there are no such tiles.
     *
     * @param strides the distances of neighbours in the source
     * @param isContiguous true for sizes of a block that is contiguous in the source
     */
    static String condition(
            PlanLoops loops,
            ActiveBlock block,
            List<Long> strides,
            Predicate<List<Integer>> isContiguous) {
        List<Integer> sizes = new ArrayList<>(block.sizes());
        List<String> conditions = new ArrayList<>();
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
                conditions.add(isOneLeft(limits, elements));
                sizes.set(r, 1);
                if (isContiguous.test(sizes)) {
                    return String.join(" && ", conditions);
                }
            }
        }
        return "";
    }

    /** Returns the condition that limits leave one element in a dimension. */
    private static String isOneLeft(List<ActiveBlock.Limit> limits, int elements) {
        String any = limits.stream()
                .map(limit -> excess(limit, elements))
                .map(excess -> excess.linear(_ -> true) + " >= " + -excess.constant())
                .collect(Collectors.joining(" || "));
        return limits.size() == 1 ? any : "(" + any + ")";
    }

    /**
     * Returns a sum that is 0 if a limit leaves one of that many elements; negative if it leaves
     * more, positive if it leaves none.
     */
    private static AffineIndex excess(ActiveBlock.Limit limit, int elements) {
        long last = limit.factor() > 0 ? 0 : elements - 1L; // offsets count from the last element
        return limit.base().add(AffineIndex.of(1 - limit.end() - last));
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
}
