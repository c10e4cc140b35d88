package dev.granary.plans.nest;

import java.util.Locale;

/** The type of the elements of an array or a cache. */
public enum ElementType {
    /** 32-bit floating point. */
    FLOAT(4, "float"),
    /** 32-bit signed integers; sums wrap. */
    INT32(4, "int"),
    /** 8-bit signed integers, computed as 32-bit ones. */
    INT8(1, "char"),
    /**
     * 16-bit floating point, computed as {@link #FLOAT}. It needs no extension of the device: the
     * kernel converts at each load and store.
     */
    HALF(2, "half");

    private final int bytes;
    private final String text;

    ElementType(int bytes, String text) {
        this.bytes = bytes;
        this.text = text;
    }

    /** Returns the size of an element in bytes. */
    public int bytes() {
        return bytes;
    }

    /** Returns the name of the type in OpenCL C. */
    public String openClName() {
        return text;
    }

    /** Returns true for the types that are computed as {@link #FLOAT}. */
    public boolean isFloating() {
        return this == FLOAT || this == HALF;
    }

    /** Returns the name in lower case, as plan files have it. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
