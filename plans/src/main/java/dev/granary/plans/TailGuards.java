package dev.granary.plans;

import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;

import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The ends of loops and the conditions that exclude the missing iterations of incomplete tiles. All
 * work-items must reach a barrier, so conditions on work-items are inside of the barriers.
 *
 * @param loops the loops
 * @param copied the caches with a copy
 */
record TailGuards(PlanLoops loops, List<PlacedCache> copied) {
    private static final int MAX_SECTIONS = 2;

    /** The compile time grows with the iterations; at 2,000 PoCL 3.1 ends the process. */
    private static final int MAX_UNROLLED = 64;

    /**
     * Returns the end of a loop as an expression of C, and adds the limits that it ensures.
     *
     * @param satisfied the limits that conditions and loops around ensure
     */
    String end(int position, Set<PlanLoops.TailLimit> satisfied) {
        ScheduledLoop loop = loops.all().get(position);
        String end = String.valueOf(loop.extent());
        for (PlanLoops.TailLimit tail : loops.tails(loop.dimension())) {
            if (tail.loops().contains(loop) && !tail.loops().getFirst().equals(loop)) {
                boolean mustBeUniform = hasBarrierInside(position);
                AffineIndex known = known(tail, position)
                        .linear(index ->
                                !mustBeUniform || !loops.isItem(loops.schedule().loop(index)));
                if (!known.terms().isEmpty()) { // else the extent is below the limit
                    end = "min(" + end + ", " + tail.limit() + " - "
                            + (known.terms().size() == 1 ? known : "(" + known + ")") + ")";
                }
                if (isComplete(tail, position) && known.equals(known(tail, position))) {
                    satisfied.add(tail);
                }
            }
        }
        return end;
    }

    /**
     * Returns true if the compiler unrolls the loop at a position. Then it has a constant number of
     * iterations, since a compiler warns otherwise, and a condition inside excludes the missing
     * ones of an incomplete tile. Around barriers PoCL 3.1 may take hours.
     */
    boolean isUnrolled(int position) {
        ScheduledLoop loop = loops.all().get(position);
        return loops.isUnrolled(loop)
                && !hasBarrierInside(position)
                && (!isBuffered(loop) || !hasLimit(position))
                && unrolledIterations(position) <= MAX_UNROLLED;
    }

    private boolean isBuffered(ScheduledLoop loop) {
        return copied.stream().anyMatch(cache -> loop.equals(cache.bufferedLoop()));
    }

    /** Returns true if the end of a loop is not constant. */
    private boolean hasLimit(int position) {
        return !end(position, new HashSet<>())
                .equals(String.valueOf(loops.all().get(position).extent()));
    }

    /** Returns the number of iterations of a loop together with the unrolled loops inside of it. */
    private double unrolledIterations(int position) {
        return loops.all().subList(position, loops.count()).stream()
                .filter(loops::isUnrolled)
                .mapToDouble(ScheduledLoop::count)
                .reduce(1, (product, count) -> product * count);
    }

    /** Returns the sum of the loops of a limit whose indices have values outside of a position. */
    AffineIndex known(PlanLoops.TailLimit tail, int position) {
        return tail.sum().linear(index -> {
            ScheduledLoop loop = loops.schedule().loop(index);
            return loops.isBound(loop) || loops.position(index) < position;
        });
    }

    private boolean isComplete(PlanLoops.TailLimit tail, int position) {
        return known(tail, position + 1).equals(tail.sum());
    }

    /**
     * Returns the condition on iterations of incomplete tiles that no loop excludes, as an
     * expression of C, and adds the limits that it ensures; empty if there is none. Conditions wait
     * for a position without a barrier inside.
     *
     * @param position the loop that contains what follows
     * @param known the innermost loop whose index has a value
     */
    String due(int position, int known, Set<PlanLoops.TailLimit> satisfied) {
        if (hasBarrierInside(position)) {
            return "";
        }
        List<PlanLoops.TailLimit> due = loops.schedule().nest().extents().keySet().stream()
                .flatMap(dimension -> loops.tails(dimension).stream())
                .filter(tail -> !satisfied.contains(tail) && isComplete(tail, known))
                .toList();
        satisfied.addAll(due);
        return due.stream()
                .map(tail -> tail.sum() + " < " + tail.limit())
                .collect(Collectors.joining(" && "));
    }

    /** Returns true if the loop at a position contains a stage of a cache with a barrier. */
    boolean hasBarrierInside(int position) {
        return loops.groupItems() > 1
                && copied.stream()
                        .filter(PlacedCache::isLocal)
                        .anyMatch(cache -> position
                                < (cache.bufferedLoop() == null
                                        ? cache.trigger()
                                        : loops.position(cache.bufferedLoop().index()) + 1));
    }

    /**
     * Returns true if the loop at a position must end with a barrier. PoCL 3.1 computes wrong
     * results if only some work-items take a branch between the last barrier of a loop and its end.
     */
    boolean mustEndWithBarrier(int position) {
        return hasBarrierInside(position)
                && loops.schedule().nest().extents().keySet().stream()
                        .flatMap(dimension -> loops.tails(dimension).stream())
                        .anyMatch(tail -> tail.loops().stream().anyMatch(loops::isItem));
    }

    /**
     * Returns true if the loop at a position must begin with a barrier. PoCL 3.1 ends the process
     * if only some work-items take a branch of a copy before an inner loop with barriers.
     */
    boolean mustBeginWithBarrier(int position) {
        int inner = position + 1;
        while (inner < loops.count() && !loops.isSequential(loops.all().get(inner))) {
            inner++;
        }
        int end = inner;
        return hasBarrierInside(end)
                && mustEndWithBarrier(position)
                && copied.stream()
                        .filter(cache -> !cache.isLocal() && cache.bufferedLoop() == null)
                        .anyMatch(cache -> cache.trigger() > position && cache.trigger() <= end);
    }

    /**
     * Returns true if a barrier must precede the loop at a position. PoCL 3.1 computes wrong
     * results if only some work-items take a branch of the copy for its first iteration, and it
     * contains barriers.
     */
    boolean mustFollowBarrier(int position) {
        ScheduledLoop loop = loops.all().get(position);
        return mustEndWithBarrier(position)
                && copied.stream()
                        .anyMatch(cache -> !cache.isLocal() && loop.equals(cache.bufferedLoop()));
    }

    /**
     * Returns true if a cache has incomplete tiles without a copy. Each such cache doubles the
     * loops inside of it, so these are the two outermost ones at most. Where a barrier is inside of
     * a cache, work-items of one group would reach it in different places of the kernel.
     */
    boolean isElided(PlacedCache cache) {
        return copied.stream()
                .filter(each -> !each.section().isEmpty() && !hasBarrierInside(each.trigger() - 1))
                .sorted(Comparator.comparingInt(PlacedCache::trigger))
                .limit(MAX_SECTIONS)
                .anyMatch(cache::equals);
    }
}
