package dev.granary.plans.tuning;

import dev.granary.plans.KernelPlan;
import dev.granary.plans.ParallelAxis;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.nest.LoopSchedule;

import java.util.List;
import java.util.Set;

/**
 * The plan that a person writes first: a work-item for each element of the target, work-groups of
 * 64, all other loops inside, and no caches.
 */
final class NaivePlan {
    /** The axes of work-groups, then those of work-items. */
    private static final List<ParallelAxis> AXES = List.of(ParallelAxis.values());

    /** Work-items in each of one, two and three dimensions; their product is 64. */
    private static final List<Integer> SIDES = List.of(64, 8, 4);

    private NaivePlan() {}

    static KernelPlan of(LoopNest nest) {
        // the last dimensions are usually those of consecutive elements
        List<LoopIndex> parallel = nest.extents().sequencedKeySet().reversed().stream()
                .filter(nest::isAloneInTarget)
                .limit(SIDES.size())
                .toList();
        if (parallel.isEmpty()) {
            return KernelPlan.of(nest.schedule());
        }
        int side = SIDES.get(parallel.size() - 1);
        LoopSchedule schedule = nest.schedule();
        for (LoopIndex index : parallel) {
            schedule = schedule.split(index, side, inner(schedule, index));
        }
        KernelPlan plan = KernelPlan.of(schedule);
        for (int axis = 0; axis < parallel.size(); axis++) {
            LoopIndex index = parallel.get(axis);
            plan = plan.bind(index, AXES.get(axis))
                    .bind(schedule.loopsOf(index).getLast().index(), AXES.get(SIDES.size() + axis));
        }
        return plan;
    }

    /** Returns a name for the loop inside of a tile that nothing else has. */
    private static LoopIndex inner(LoopSchedule schedule, LoopIndex index) {
        Set<String> names = schedule.names();
        LoopIndex inner = index.inner();
        while (names.contains(inner.name())) {
            inner = LoopIndex.of(inner.name() + "_");
        }
        return inner;
    }
}
