package dev.granary.plans.nest;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The order of the elements of an array or a cache in memory: the distance of two neighbours in
 * each dimension, in elements.
 *
 * @param order the kind of order
 * @param distances the distance in each dimension for {@link Order#COEFFICIENTS}, else empty
 */
public record ArrayLayout(Order order, List<Long> distances) {
    /** The last coordinate varies fastest: row-major for matrices. */
    public static final ArrayLayout FIRST_MAJOR = new ArrayLayout(Order.FIRST_MAJOR, List.of());

    /** The first coordinate varies fastest: column-major for matrices. */
    public static final ArrayLayout LAST_MAJOR = new ArrayLayout(Order.LAST_MAJOR, List.of());

    /** A kind of order. */
    public enum Order {
        /** Without gaps, the last coordinate fastest. */
        FIRST_MAJOR,
        /** Without gaps, the first coordinate fastest. */
        LAST_MAJOR,
        /** By given distances. */
        COEFFICIENTS
    }

    /**
     * Checks the distances.
     *
     * @throws IllegalArgumentException if one is not positive, or they do not belong to the order
     */
    public ArrayLayout {
        distances = List.copyOf(distances);
        if (distances.isEmpty() == (order == Order.COEFFICIENTS)) {
            throw new IllegalArgumentException(
                    "A layout has coefficients, or it is first major or last major");
        }
        if (distances.stream().anyMatch(distance -> distance <= 0)) {
            throw new IllegalArgumentException(
                    "The coefficients of a layout must be positive: " + distances);
        }
    }

    /** Returns a layout with this distance in each dimension, in elements. */
    public static ArrayLayout coefficients(long... distances) {
        return new ArrayLayout(
                Order.COEFFICIENTS, Arrays.stream(distances).boxed().toList());
    }

    /**
     * Returns the distance of neighbours in each dimension for these sizes.
     *
     * @throws IllegalArgumentException if the layout has another number of dimensions, or two
     *     elements would have one place
     */
    public List<Long> strides(List<Integer> sizes) {
        return switch (order) {
            case FIRST_MAJOR -> products(sizes.reversed()).reversed();
            case LAST_MAJOR -> products(sizes);
            case COEFFICIENTS -> checked(sizes);
        };
    }

    /** Returns the number of elements from the first to the last one, gaps included. */
    public long span(List<Integer> sizes) {
        List<Long> strides = strides(sizes);
        return 1
                + IntStream.range(0, sizes.size())
                        .mapToLong(r -> Math.multiplyExact(sizes.get(r) - 1L, strides.get(r)))
                        .reduce(0, Math::addExact);
    }

    /** Returns for each size the product of those before. */
    private static List<Long> products(List<Integer> sizes) {
        List<Long> products = new ArrayList<>();
        long product = 1;
        for (int size : sizes) {
            products.add(product);
            product = Math.multiplyExact(product, size);
        }
        return List.copyOf(products);
    }

    private List<Long> checked(List<Integer> sizes) {
        if (distances.size() != sizes.size()) {
            throw new IllegalArgumentException("The layout has " + distances.size()
                    + " coefficients for " + sizes.size() + " dimensions");
        }
        List<Integer> dimensions = IntStream.range(0, sizes.size())
                .boxed()
                .filter(r -> sizes.get(r) > 1)
                .sorted(Comparator.comparing(distances::get))
                .toList();
        long used = 0; // the largest distance within the dimensions before
        for (int dimension : dimensions) {
            if (distances.get(dimension) <= used) {
                throw new IllegalArgumentException("The coefficients " + distances
                        + " give two elements of " + sizes + " one place");
            }
            used = Math.addExact(
                    used, Math.multiplyExact(sizes.get(dimension) - 1L, distances.get(dimension)));
        }
        return distances;
    }

    /** Returns the layout as plan files have it. */
    @Override
    public String toString() {
        return switch (order) {
            case FIRST_MAJOR -> "first-major";
            case LAST_MAJOR -> "last-major";
            case COEFFICIENTS -> distances.toString();
        };
    }
}
