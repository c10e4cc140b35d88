package dev.granary.plans.nest;

import java.util.Locale;

/** The use of an array by a nest. */
public enum ArrayRole {
    /** Read only. */
    INPUT,
    /** Written only: its former values are undefined. */
    OUTPUT,
    /** Read and written. */
    INPUT_OUTPUT,
    /** Read only, with values that are equal in all launches; may be in constant memory. */
    CONSTANT,
    /** Read and written, with values that matter between the nests of one operation only. */
    TEMPORARY;

    /** Returns true for arrays that no kernel writes. */
    public boolean isReadOnly() {
        return this == INPUT || this == CONSTANT;
    }

    /** Returns the name as plan files have it, such as {@code input-output}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
