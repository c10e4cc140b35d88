package dev.granary.plans.nest;

import java.util.List;
import java.util.stream.Collectors;

/**
 * The element of an array at coordinates: a value, or the target of a statement.
 *
 * @param array the array
 * @param coordinates one for each dimension
 */
public record ArrayAccess(KernelArray array, List<AffineIndex> coordinates)
        implements ValueExpression {
    /**
     * Checks the number of coordinates.
     *
     * @throws IllegalArgumentException if it is not that of the dimensions
     */
    public ArrayAccess {
        coordinates = List.copyOf(coordinates);
        if (coordinates.size() != array.shape().size()) {
            throw new IllegalArgumentException("The array " + array + " has "
                    + array.shape().size() + " dimensions, not " + coordinates.size());
        }
    }

    /** Returns the statement {@code element = value}. */
    public NestLogic set(ValueExpression value) {
        return new NestLogic(this, UpdateOperator.SET, value);
    }

    /** Returns the statement {@code element += value}. */
    public NestLogic add(ValueExpression value) {
        return new NestLogic(this, UpdateOperator.ADD, value);
    }

    /** Returns the statement that updates the element by {@code operator}. */
    public NestLogic update(UpdateOperator operator, ValueExpression value) {
        return new NestLogic(this, operator, value);
    }

    /** Returns a text such as {@code A[i, k + 1]}. */
    @Override
    public String toString() {
        return array.name()
                + coordinates.stream()
                        .map(AffineIndex::toString)
                        .collect(Collectors.joining(", ", "[", "]"));
    }
}
