package dev.granary.plans;

import java.util.Locale;

/** A memory of a device that a cache may be in. */
public enum MemoryLocation {
    /** The memory of the arrays; no cache is there. */
    GLOBAL,
    /** Memory that all work-items read; for arrays with the role of a constant. */
    CONSTANT,
    /** Memory of a work-group, which its work-items share. */
    LOCAL,
    /** Memory of one work-item: registers, if they suffice. */
    PRIVATE;

    /** Returns the name as plan files have it, such as {@code local}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
