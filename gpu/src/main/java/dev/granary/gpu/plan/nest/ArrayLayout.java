package dev.granary.gpu.plan.nest;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The order of the elements of an array or a cache in memory: the distance of two neighbours in
 * each dimension, in elements.
 */
public sealed interface ArrayLayout {
    /** The last coordinate varies fastest: row-major for matrices. */
    ArrayLayout FIRST_MAJOR = new FirstMajor();

    /** The first coordinate varies fastest: column-major for matrices. */
    ArrayLayout LAST_MAJOR = new LastMajor();

    /** Returns a layout with this distance in each dimension, in elements. */
    static ArrayLayout coefficients(long... distances) {
        return new Coefficients(Arrays.stream(distances).boxed().toList());
    }

    /**
     * Returns the distance of neighbours in each dimension for these sizes.
     *
     * @throws IllegalArgumentException if the layout has another number of dimensions, or two
     *     elements would have one place
     */
    List<Long> strides(List<Integer> sizes);

    /** Returns the number of elements from the first to the last one, gaps included. */
    default long span(List<Integer> sizes) {
        List<Long> strides = strides(sizes);
        return 1
                + IntStream.range(0, sizes.size())
                        .mapToLong(r -> Math.multiplyExact(sizes.get(r) - 1L, strides.get(r)))
                        .reduce(0, Math::addExact);
    }

    /** The layout of {@link #FIRST_MAJOR}. */
    record FirstMajor() implements ArrayLayout {
        @Override
        public List<Long> strides(List<Integer> sizes) {
            List<Long> strides = new ArrayList<>();
            long product = 1;
            for (int size : sizes.reversed()) {
                strides.addFirst(product);
                product = Math.multiplyExact(product, size);
            }
            return List.copyOf(strides);
        }

        @Override
        public String toString() {
            return "first-major";
        }
    }

    /** The layout of {@link #LAST_MAJOR}. */
    record LastMajor() implements ArrayLayout {
        @Override
        public List<Long> strides(List<Integer> sizes) {
            return FIRST_MAJOR.strides(sizes.reversed()).reversed();
        }

        @Override
        public String toString() {
            return "last-major";
        }
    }

    /**
     * A layout by distances.
     *
     * @param distances the distance of neighbours in each dimension, in elements
     */
    record Coefficients(List<Long> distances) implements ArrayLayout {
        /**
         * Checks the distances.
         *
         * @throws IllegalArgumentException if one is not positive
         */
        public Coefficients {
            distances = List.copyOf(distances);
            if (distances.stream().anyMatch(distance -> distance <= 0)) {
                throw new IllegalArgumentException(
                        "The coefficients of a layout must be positive: " + distances);
            }
        }

        @Override
        public List<Long> strides(List<Integer> sizes) {
            if (distances.size() != sizes.size()) {
                throw new IllegalArgumentException("The layout has " + distances.size()
                        + " coefficients for " + sizes.size() + " dimensions");
            }
            List<Integer> dimensions =
                    new ArrayList<>(IntStream.range(0, sizes.size()).boxed().toList());
            Collections.sort(dimensions, Comparator.comparing(distances::get));
            long used = 0; // the largest distance within the dimensions before
            for (int dimension : dimensions) {
                if (sizes.get(dimension) > 1) {
                    if (distances.get(dimension) <= used) {
                        throw new IllegalArgumentException("The coefficients " + distances
                                + " give two elements of " + sizes + " one place");
                    }
                    used = Math.addExact(
                            used,
                            Math.multiplyExact(
                                    sizes.get(dimension) - 1L, distances.get(dimension)));
                }
            }
            return distances;
        }

        @Override
        public String toString() {
            return distances.toString();
        }
    }
}
