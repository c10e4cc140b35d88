package dev.granary.plans;

import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopSchedule;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;

/**
 * The loops of a plan: a schedule in which some loops are replaced by work-groups and work-items.
 *
 * @param schedule the schedule
 * @param bindings the replaced loops by axis
 */
record PlanLoops(LoopSchedule schedule, SortedMap<ParallelAxis, LoopIndex> bindings) {
    /**
     * A condition that iterations of an incomplete tile satisfy: the sum of the loops is below the
     * limit.
     *
     * @param loops a loop with a tail, and those inside of its tiles
     * @param limit the extent of the first of them
     */
    record TailLimit(List<ScheduledLoop> loops, int limit) {
        AffineIndex sum() {
            return PlanLoops.sum(loops);
        }
    }

    /** Returns the sum of the indices of some loops. */
    static AffineIndex sum(List<ScheduledLoop> loops) {
        return loops.stream()
                .map(loop -> AffineIndex.of(loop.index()))
                .reduce(AffineIndex.of(0), AffineIndex::add);
    }

    List<ScheduledLoop> all() {
        return schedule.loops();
    }

    int count() {
        return schedule.loops().size();
    }

    int position(LoopIndex index) {
        return all().indexOf(schedule.loop(index));
    }

    boolean isBound(ScheduledLoop loop) {
        return bindings.containsValue(loop.index());
    }

    boolean isItem(ScheduledLoop loop) {
        return bindings.entrySet().stream()
                .anyMatch(
                        bound -> bound.getKey().isItem() && bound.getValue().equals(loop.index()));
    }

    /** Returns true for loops that a work-item executes itself. */
    boolean isSequential(ScheduledLoop loop) {
        return !isBound(loop) && loop.count() > 1;
    }

    /** Returns true for loops that the compiler is to unroll, if it can. */
    boolean isUnrolled(ScheduledLoop loop) {
        return isSequential(loop)
                && !isVectorized(loop)
                && schedule.unrolled().contains(loop.index());
    }

    /** Returns true for the loop whose iterations are vectors. */
    boolean isVectorized(ScheduledLoop loop) {
        return !isBound(loop)
                && loop.count() > 1
                && schedule.vectorized().filter(loop::equals).isPresent();
    }

    /** Returns the number of iterations of the loop at an axis; 1 for none. */
    int size(ParallelAxis axis) {
        LoopIndex index = bindings.get(axis);
        return index == null ? 1 : schedule.loop(index).count();
    }

    /** Returns the number of work-items of a work-group. */
    long groupItems() {
        long items = 1;
        for (Map.Entry<ParallelAxis, LoopIndex> bound : bindings.entrySet()) {
            items *= bound.getKey().isItem() ? size(bound.getKey()) : 1;
        }
        return items;
    }

    /** Returns the loops of a dimension that have more than one iteration. */
    List<ScheduledLoop> variable(LoopIndex dimension) {
        return schedule.loopsOf(dimension).stream()
                .filter(loop -> loop.count() > 1)
                .toList();
    }

    /** Returns a coordinate of the nest as a sum of loops. */
    AffineIndex expand(AffineIndex coordinate) {
        return coordinate.replace(dimension -> sum(variable(dimension)));
    }

    /** Returns the conditions of a dimension, those of outer loops first. */
    List<TailLimit> tails(LoopIndex dimension) {
        List<ScheduledLoop> loops = variable(dimension);
        List<TailLimit> tails = new ArrayList<>();
        for (int outer = 0; outer < loops.size(); outer++) {
            if (loops.get(outer).hasTail()) {
                tails.add(new TailLimit(
                        loops.subList(outer, loops.size()), loops.get(outer).extent()));
            }
        }
        return tails;
    }
}
