package dev.granary.plans.nest;

import dev.granary.plans.nest.LoopNest.ArrayAccess;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/**
 * An array in global memory that a nest reads or writes: an argument of its kernel.
 *
 * @param name the name in the kernel
 * @param role its use
 * @param type the type of its elements
 * @param shape the number of elements in each dimension
 * @param layout the order of its elements
 */
public record KernelArray(
        String name, ArrayRole role, ElementType type, List<Integer> shape, ArrayLayout layout) {
    private static final int MAX_DIMENSIONS = 6;

    /**
     * Checks the values.
     *
     * @throws IllegalArgumentException if the name cannot be a name of C, a size is not positive,
     *     there are not one to six dimensions, the layout does not fit, or the array spans 2^31
     *     elements or more
     */
    public KernelArray {
        PlanNames.check("An array", name);
        shape = List.copyOf(shape);
        if (shape.isEmpty() || shape.size() > MAX_DIMENSIONS) {
            throw new IllegalArgumentException("The array " + name + " has " + shape.size()
                    + " dimensions; one to " + MAX_DIMENSIONS + " are possible");
        }
        if (shape.stream().anyMatch(size -> size <= 0)) {
            throw new IllegalArgumentException(
                    "The sizes of the array " + name + " must be positive: " + shape);
        }
        if (!isAddressable(layout, shape)) {
            throw new IllegalArgumentException(
                    "The array " + name + " spans 2^31 elements or more: " + shape);
        }
    }

    private static boolean isAddressable(ArrayLayout layout, List<Integer> shape) {
        try {
            return layout.span(shape) <= Integer.MAX_VALUE;
        } catch (ArithmeticException e) {
            return false;
        }
    }

    /** Returns an array with the layout {@link ArrayLayout#FIRST_MAJOR}. */
    public static KernelArray of(String name, ArrayRole role, ElementType type, int... shape) {
        return new KernelArray(
                name, role, type, Arrays.stream(shape).boxed().toList(), ArrayLayout.FIRST_MAJOR);
    }

    /** Returns an {@linkplain ArrayRole#INPUT input}. */
    public static KernelArray input(String name, ElementType type, int... shape) {
        return of(name, ArrayRole.INPUT, type, shape);
    }

    /** Returns an {@linkplain ArrayRole#OUTPUT output}. */
    public static KernelArray output(String name, ElementType type, int... shape) {
        return of(name, ArrayRole.OUTPUT, type, shape);
    }

    /** Returns an array that is {@linkplain ArrayRole#INPUT_OUTPUT read and written}. */
    public static KernelArray inputOutput(String name, ElementType type, int... shape) {
        return of(name, ArrayRole.INPUT_OUTPUT, type, shape);
    }

    /** Returns this array with another layout. */
    public KernelArray layout(ArrayLayout other) {
        return new KernelArray(name, role, type, shape, other);
    }

    /** Returns the size of the array in bytes, gaps of its layout included. */
    public long byteSize() {
        return layout.span(shape) * type.bytes();
    }

    /**
     * Returns the element at these coordinates.
     *
     * @throws IllegalArgumentException if their number is not that of the dimensions
     */
    public ArrayAccess at(IndexExpression... coordinates) {
        return new ArrayAccess(
                this, Arrays.stream(coordinates).map(IndexExpression::affine).toList());
    }

    @Override
    public String toString() {
        return name;
    }

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
         * @throws IllegalArgumentException if one is not positive, or they do not belong to the
         *     order
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
                        used,
                        Math.multiplyExact(sizes.get(dimension) - 1L, distances.get(dimension)));
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
}
