package dev.granary.gpu;

import java.util.Collections;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * A launch announced by a descriptor.
 *
 * @param kernel the kernel's name; {@link #EVERY_KERNEL} for all kernels of the program
 * @param geometry the size of the launch
 */
public record Launch(String kernel, Geometry geometry) implements Comparable<Launch> {
    /** The name that means all kernels of the program. */
    public static final String EVERY_KERNEL = "*";

    /**
     * Checks the name.
     *
     * @throws IllegalArgumentException if it is blank
     */
    public Launch {
        if (kernel.isBlank()) {
            throw new IllegalArgumentException(
                    "A launch needs the name of its kernel, or " + EVERY_KERNEL + " for all");
        }
    }

    /**
     * Returns launches in order, with those of every kernel as one launch of each entry point, if
     * there are entry points.
     */
    static SortedSet<Launch> named(SortedSet<Launch> announced, SortedSet<String> entries) {
        TreeSet<Launch> named = new TreeSet<>();
        for (Launch launch : announced) {
            if (launch.kernel().equals(EVERY_KERNEL) && !entries.isEmpty()) {
                entries.forEach(entry -> named.add(new Launch(entry, launch.geometry())));
            } else {
                named.add(launch);
            }
        }
        return Collections.unmodifiableSortedSet(named);
    }

    /** Returns a text such as {@code gemm@256x256/16x16}. */
    @Override
    public String toString() {
        return kernel + "@" + geometry;
    }

    /** Compares by text: an order for keys and tables without other meaning. */
    @Override
    public int compareTo(Launch other) {
        return toString().compareTo(other.toString());
    }
}
