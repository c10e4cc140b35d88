package dev.granary.plans;

import java.util.Arrays;
import java.util.Locale;

/** An axis of a launch that replaces a loop: one iteration for each work-group or work-item. */
public enum ParallelAxis {
    /** Work-groups in dimension 0. */
    GROUP_X(false, 0),
    /** Work-groups in dimension 1. */
    GROUP_Y(false, 1),
    /** Work-groups in dimension 2. */
    GROUP_Z(false, 2),
    /** Work-items of a work-group in dimension 0. */
    ITEM_X(true, 0),
    /** Work-items of a work-group in dimension 1. */
    ITEM_Y(true, 1),
    /** Work-items of a work-group in dimension 2. */
    ITEM_Z(true, 2);

    private final boolean isItem;
    private final int dimension;

    ParallelAxis(boolean isItem, int dimension) {
        this.isItem = isItem;
        this.dimension = dimension;
    }

    /** Returns true for work-items. */
    boolean isItem() {
        return isItem;
    }

    /** Returns the dimension of the launch. */
    int dimension() {
        return dimension;
    }

    /** Returns the axis of work-groups or of work-items in a dimension. */
    static ParallelAxis of(boolean isItem, int dimension) {
        return Arrays.stream(values())
                .filter(axis -> axis.isItem == isItem && axis.dimension == dimension)
                .findFirst()
                .orElseThrow();
    }

    /** Returns the name as plan files have it, such as {@code item-x}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
