package dev.granary.gpu.plan;

import java.util.Locale;

/** An axis of a launch that replaces a loop: one iteration for each work-group or work-item. */
public enum ParallelAxis {
    /** Work-groups in dimension 0. */
    GROUP_X,
    /** Work-groups in dimension 1. */
    GROUP_Y,
    /** Work-groups in dimension 2. */
    GROUP_Z,
    /** Work-items of a work-group in dimension 0. */
    ITEM_X,
    /** Work-items of a work-group in dimension 1. */
    ITEM_Y,
    /** Work-items of a work-group in dimension 2. */
    ITEM_Z;

    static final int DIMENSIONS = 3;

    /** Returns true for work-items. */
    boolean isItem() {
        return ordinal() >= DIMENSIONS;
    }

    /** Returns the dimension of the launch. */
    int dimension() {
        return ordinal() % DIMENSIONS;
    }

    /** Returns the axis of work-groups or of work-items in a dimension. */
    static ParallelAxis of(boolean isItem, int dimension) {
        return values()[(isItem ? DIMENSIONS : 0) + dimension];
    }

    /** Returns the name as plan files have it, such as {@code item-x}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
