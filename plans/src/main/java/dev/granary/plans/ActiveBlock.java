package dev.granary.plans;

import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.nest.LoopNest.ArrayAccess;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The smallest box of an array that contains the elements which some loops touch, for fixed values
 * of the other loops. An incomplete tile touches a part of it.
 *
 * @param lower the first coordinate in each dimension, as a sum of the other loops
 * @param sizes the number of elements in each dimension
 * @param limits the conditions on an element of the box to be touched
 * @param isDense true if each element that satisfies the limits is touched
 */
record ActiveBlock(
        List<AffineIndex> lower, List<Integer> sizes, List<Limit> limits, boolean isDense) {
    /**
     * A condition on the offset in one dimension of the box: {@code base + factor * offset < end}.
     *
     * @param dimension the dimension
     * @param base a sum of the other loops
     * @param factor 1 or -1
     * @param end the first value that does not satisfy the condition
     */
    record Limit(int dimension, AffineIndex base, int factor, long end) {
        Limit replace(LoopIndex index, AffineIndex value) {
            return new Limit(dimension, base.replace(index, value), factor, end);
        }

        /** Returns the condition as an expression of C. */
        String text(AffineIndex offset) {
            return base.add(offset.scale(factor)) + " < " + end;
        }
    }

    /** Returns the number of elements. */
    long volume() {
        return sizes.stream().mapToLong(Integer::longValue).reduce(1, Math::multiplyExact);
    }

    /** Returns the block for another value of a loop outside of it. */
    ActiveBlock at(LoopIndex index, AffineIndex value) {
        return new ActiveBlock(
                lower.stream().map(each -> each.replace(index, value)).toList(),
                sizes,
                limits.stream().map(limit -> limit.replace(index, value)).toList(),
                isDense);
    }

    /**
     * Returns the block of an array for the loops in {@code covered}.
     *
     * @throws IllegalArgumentException if its elements are in no box of a fixed size
     */
    static ActiveBlock of(PlanLoops loops, KernelArray array, Set<ScheduledLoop> covered) {
        return new Computation(loops, array, covered).block();
    }

    /** Returns the block limited to the part that is in another one, of a cache around it. */
    ActiveBlock within(ActiveBlock outer, PlanLoops loops) {
        List<Limit> more = new ArrayList<>(limits);
        for (int r = 0; r < sizes.size(); r++) {
            AffineIndex distance = lower.get(r).add(outer.lower.get(r).scale(-1));
            long first = distance.constant();
            long last = distance.constant() + sizes.get(r) - 1;
            for (var term : distance.terms().entrySet()) {
                long reach =
                        term.getValue() * loops.schedule().loop(term.getKey()).last();
                first += Math.min(0, reach);
                last += Math.max(0, reach);
            }
            if (last >= outer.sizes.get(r)) {
                more.add(new Limit(r, distance, 1, outer.sizes.get(r)));
            }
            if (first < 0) {
                more.add(new Limit(r, distance.scale(-1), -1, 1));
            }
        }
        return new ActiveBlock(lower, sizes, more, isDense);
    }

    /** The computation of a block. */
    private record Computation(PlanLoops loops, KernelArray array, Set<ScheduledLoop> covered) {
        ActiveBlock block() {
            LoopNest nest = loops.schedule().nest();
            List<ArrayAccess> accesses = nest.accesses(array);
            List<AffineIndex> lower = new ArrayList<>();
            List<Integer> sizes = new ArrayList<>();
            List<Limit> limits = new ArrayList<>();
            boolean isDense = accesses.size() == 1;
            for (int r = 0; r < array.shape().size(); r++) {
                int dimension = r;
                List<AffineIndex> coordinates = accesses.stream()
                        .map(each -> variable(each.coordinates().get(dimension)))
                        .toList();
                AffineIndex first = lower(coordinates.getFirst());
                long start = first.constant();
                long end = start;
                for (AffineIndex coordinate : coordinates) {
                    AffineIndex each = lower(coordinate);
                    if (!each.linear(_ -> true).equals(first.linear(_ -> true))) {
                        throw new IllegalArgumentException("The elements of " + array + " at "
                                + coordinates.getFirst() + " and " + coordinate + " have a varying"
                                + " distance, so no cache of a fixed size holds both");
                    }
                    start = Math.min(start, each.constant());
                    end = Math.max(end, each.constant() + reach(coordinate));
                }
                lower.add(first.linear(_ -> true).add(AffineIndex.of(start)));
                sizes.add(Math.toIntExact(end - start + 1));
                AffineIndex only = coordinates.getFirst();
                if (coordinates.stream().allMatch(only::equals) && only.terms().size() == 1) {
                    isDense &= Math.abs(factor(only)) == 1 || reach(only) == 0;
                    addTails(limits, r, only);
                } else {
                    isDense &= only.terms().isEmpty();
                    addRange(limits, r, coordinates, lower.getLast());
                }
            }
            return new ActiveBlock(
                    lower, sizes, limits, isDense && nest.isInjective() && isSuffix());
        }

        /** Returns a coordinate without the indices of loops of one iteration. */
        private AffineIndex variable(AffineIndex coordinate) {
            return coordinate.replace(dimension -> loops.schedule().nest().extent(dimension) == 1
                    ? AffineIndex.of(0)
                    : AffineIndex.of(dimension));
        }

        /** Returns the largest sum of the covered loops of a dimension. */
        private long reach(LoopIndex dimension) {
            List<ScheduledLoop> inside = inside(dimension);
            return inside.isEmpty()
                    ? 0
                    : Math.min(
                            inside.stream().mapToLong(ScheduledLoop::last).sum(),
                            inside.getFirst().extent() - 1L);
        }

        private List<ScheduledLoop> inside(LoopIndex dimension) {
            return loops.variable(dimension).stream().filter(covered::contains).toList();
        }

        /** Returns the distance from the first to the last touched coordinate. */
        private long reach(AffineIndex coordinate) {
            return coordinate.terms().entrySet().stream()
                    .mapToLong(term -> Math.abs(term.getValue()) * reach(term.getKey()))
                    .sum();
        }

        /** Returns the first touched coordinate. */
        private AffineIndex lower(AffineIndex coordinate) {
            AffineIndex sum = loops.expand(coordinate)
                    .linear(index -> !covered.contains(loops.schedule().loop(index)))
                    .add(AffineIndex.of(coordinate.constant()));
            for (var term : coordinate.terms().entrySet()) {
                sum = sum.add(AffineIndex.of(Math.min(0, term.getValue() * reach(term.getKey()))));
            }
            return sum;
        }

        private static long factor(AffineIndex coordinate) {
            return coordinate.factor(coordinate.terms().firstKey());
        }

        /** Adds the limits of a coordinate that depends on one dimension. */
        private void addTails(List<Limit> limits, int r, AffineIndex coordinate) {
            LoopIndex dimension = coordinate.terms().firstKey();
            for (PlanLoops.TailLimit tail : loops.tails(dimension)) {
                AffineIndex outside = tail.sum()
                        .linear(index -> !covered.contains(loops.schedule().loop(index)));
                if (outside.terms().isEmpty()) {
                    continue; // within the limit by its size
                }
                if (tail.loops().containsAll(inside(dimension))) {
                    limits.add(limit(r, outside, coordinate, tail.limit()));
                } else {
                    addEnd(limits, r, coordinate);
                }
            }
        }

        /**
         * Adds the limit of the whole dimension for a block in several incomplete tiles, if it
         * exceeds the dimension in the last of them.
         */
        private void addEnd(List<Limit> limits, int r, AffineIndex coordinate) {
            LoopIndex dimension = coordinate.terms().firstKey();
            List<ScheduledLoop> outside = loops.variable(dimension).stream()
                    .filter(loop -> !covered.contains(loop))
                    .toList();
            int extent = loops.schedule().nest().extent(dimension);
            long last = outside.stream().mapToLong(ScheduledLoop::last).sum() + reach(dimension);
            if (last >= extent) {
                limits.add(limit(r, PlanLoops.sum(outside), coordinate, extent));
            }
        }

        /** Returns the limit of a coordinate: the sum of the loops of its dimension is below it. */
        private Limit limit(int r, AffineIndex outside, AffineIndex coordinate, int limit) {
            long factor = factor(coordinate);
            AffineIndex base = outside.scale(Math.abs(factor));
            long end = Math.abs(factor) * (limit - 1L) + 1;
            if (factor < 0) { // offsets count from the last element
                base = base.add(
                        AffineIndex.of(-factor * reach(coordinate.terms().firstKey())));
            }
            return new Limit(r, base, factor < 0 ? -1 : 1, end);
        }

        /** Adds the limits of a coordinate with several indices: the elements that are touched. */
        private void addRange(
                List<Limit> limits, int r, List<AffineIndex> coordinates, AffineIndex lower) {
            boolean hasTail = coordinates.stream()
                    .flatMap(each -> each.terms().keySet().stream())
                    .anyMatch(dimension -> !loops.tails(dimension).isEmpty());
            if (!hasTail) {
                return;
            }
            LoopNest nest = loops.schedule().nest();
            long last = coordinates.stream()
                    .mapToLong(each -> nest.range(each).last())
                    .max()
                    .orElseThrow();
            limits.add(new Limit(r, lower, 1, last + 1));
            if (coordinates.stream().anyMatch(each -> each.terms().values().stream()
                    .anyMatch(factor -> factor < 0))) {
                long start = coordinates.stream()
                        .mapToLong(each -> nest.range(each).first())
                        .min()
                        .orElseThrow();
                limits.add(new Limit(r, lower.scale(-1), -1, 1 - start));
            }
        }

        /** Returns true if no loop outside of the block is inside of the tiles of a covered one. */
        private boolean isSuffix() {
            return loops.schedule().nest().extents().keySet().stream().allMatch(dimension -> {
                List<ScheduledLoop> all = loops.variable(dimension);
                List<ScheduledLoop> inside = inside(dimension);
                return new HashSet<>(all.subList(all.size() - inside.size(), all.size()))
                        .equals(new HashSet<>(inside));
            });
        }
    }
}
