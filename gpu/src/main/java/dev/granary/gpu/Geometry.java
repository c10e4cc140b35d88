package dev.granary.gpu;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The size of a launch in one to three dimensions: global work-items, and work-items per
 * work-group.
 *
 * @param global the number of work-items per dimension
 * @param local the number of work-items of a work-group per dimension; empty if the driver chooses
 */
public record Geometry(List<Long> global, List<Long> local) {
    private static final int MAX_DIMENSIONS = 3;

    /**
     * Checks the sizes.
     *
     * @throws IllegalArgumentException if there are not one to three dimensions, a size is not
     *     positive, or the local sizes do not match the dimensions
     */
    public Geometry {
        global = List.copyOf(global);
        local = List.copyOf(local);
        if (global.isEmpty() || global.size() > MAX_DIMENSIONS) {
            throw new IllegalArgumentException(
                    "A launch has one to three dimensions, not " + global.size());
        }
        if (!local.isEmpty() && local.size() != global.size()) {
            throw new IllegalArgumentException("The launch has " + global.size()
                    + " global sizes, but " + local.size() + " local sizes");
        }
        for (List<Long> sizes : List.of(global, local)) {
            if (sizes.stream().anyMatch(size -> size <= 0)) {
                throw new IllegalArgumentException(
                        "The sizes of a launch must be positive: " + sizes);
            }
        }
    }

    /** Returns a geometry of that many work-items, with work-group sizes chosen by the driver. */
    public static Geometry of(long... global) {
        return new Geometry(boxed(global), List.of());
    }

    /** Returns this geometry with work-groups of that size. */
    public Geometry local(long... size) {
        return new Geometry(global, boxed(size));
    }

    /** Returns the number of dimensions, 1 to 3. */
    public int dimensions() {
        return global.size();
    }

    /**
     * Returns a text such as {@code 256x256/16x16}; {@code /*} if the driver chooses the local
     * size.
     */
    @Override
    public String toString() {
        return text(global) + "/" + (local.isEmpty() ? "*" : text(local));
    }

    private static String text(List<Long> sizes) {
        return sizes.stream().map(String::valueOf).collect(Collectors.joining("x"));
    }

    private static List<Long> boxed(long[] sizes) {
        return Arrays.stream(sizes).boxed().toList();
    }
}
