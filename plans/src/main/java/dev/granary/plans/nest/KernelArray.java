package dev.granary.plans.nest;

import dev.granary.plans.nest.LoopNest.ArrayAccess;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

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
}
