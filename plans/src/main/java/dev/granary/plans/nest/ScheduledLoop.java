package dev.granary.plans.nest;

/**
 * A loop of a schedule. Its index runs from 0 below the extent, in steps. The value of a dimension
 * is the sum of the indices of its loops, and below the extent of the dimension.
 *
 * @param index the index
 * @param dimension the dimension of the nest that the loop is a part of
 * @param extent the end of the index
 * @param step the distance of two values
 */
public record ScheduledLoop(LoopIndex index, LoopIndex dimension, int extent, int step) {
    /** Returns the number of iterations. */
    public int count() {
        return Math.ceilDiv(extent, step);
    }

    /** Returns the largest value of the index. */
    public int last() {
        return (count() - 1) * step;
    }

    /** Returns true if the last iteration has fewer inner ones than the others. */
    public boolean hasTail() {
        return count() > 1 && extent % step != 0;
    }
}
