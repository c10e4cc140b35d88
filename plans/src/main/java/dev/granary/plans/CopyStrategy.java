package dev.granary.plans;

import java.util.Locale;

/** The assignment of elements to work-items when a work-group copies a block to local memory. */
public enum CopyStrategy {
    /** Work-item t copies the elements t, t + n, t + 2n, ... of n work-items. */
    STRIPED,
    /** Each work-item copies consecutive elements. */
    BLOCKED;

    /** Returns the name as plan files have it, such as {@code striped}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
