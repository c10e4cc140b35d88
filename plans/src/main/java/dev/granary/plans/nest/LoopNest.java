package dev.granary.plans.nest;

import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.KernelArray.ArrayRole;
import dev.granary.plans.nest.LoopNest.NestLogic;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * An iteration space with one statement. Each iteration executes the statement once; the result
 * does not depend on the order of the iterations, except for rounding.
 *
 * @param name the name of the kernel
 * @param extents the number of iterations of each dimension, outermost first
 * @param logic the statement
 */
public record LoopNest(String name, SequencedMap<LoopIndex, Integer> extents, NestLogic logic) {
    /** The largest number of loops of a nest, and of its schedules. */
    static final int MAX_LOOPS = 32;

    private static final int MAX_ITERATIONS = 1 << 30; // sums of two indices are ints

    /**
     * Checks that the statement stays inside of its arrays, and does not depend on the order.
     *
     * @throws IllegalArgumentException if it does not, a name is used twice, or there are not 1 to
     *     32 loops
     */
    public LoopNest(String name, SequencedMap<LoopIndex, Integer> extents, NestLogic logic) {
        this.name = PlanNames.checkKernel(name);
        this.extents = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(extents));
        this.logic = logic;
        if (extents.isEmpty() || extents.size() > MAX_LOOPS) {
            throw new IllegalArgumentException("The nest " + name + " has "
                    + (extents.isEmpty() ? "no" : extents.size()) + " loops; 1 to " + MAX_LOOPS
                    + " are possible");
        }
        extents.forEach((index, extent) -> {
            if (extent <= 0 || extent > MAX_ITERATIONS) {
                throw new IllegalArgumentException("The loop " + index + " has " + extent
                        + " iterations; 1 to " + MAX_ITERATIONS + " are possible");
            }
        });
        checkNames();
        checkBounds();
        checkRoles();
        checkOrder();
    }

    /**
     * Returns a builder of a nest with that name, which is the kernel's.
     *
     * @throws IllegalArgumentException if it can be no name in OpenCL C
     */
    public static Builder named(String name) {
        return new Builder(PlanNames.checkKernel(name));
    }

    /** A builder: loops from the outermost one, then the statement. */
    public static final class Builder {
        private final String name;
        private final LinkedHashMap<LoopIndex, Integer> extents = new LinkedHashMap<>();

        private Builder(String name) {
            this.name = name;
        }

        /**
         * Adds a loop inside of the others.
         *
         * @throws IllegalArgumentException if the nest has that index
         */
        public Builder loop(LoopIndex index, int iterations) {
            if (extents.putIfAbsent(index, iterations) != null) {
                throw new IllegalArgumentException(
                        "The nest has two loops with the index " + index);
            }
            return this;
        }

        /**
         * Returns the nest with that statement.
         *
         * @throws IllegalArgumentException as {@link LoopNest} does
         */
        public LoopNest logic(NestLogic statement) {
            return new LoopNest(name, extents, statement);
        }
    }

    /** Returns a schedule: all loops in their order, none split. */
    public LoopSchedule schedule() {
        return LoopSchedule.of(this);
    }

    /**
     * Returns the arrays, which are the arguments of the kernel: those of the value in the order of
     * their first use, then the target if it is not among them.
     */
    public List<KernelArray> arrays() {
        LinkedHashSet<KernelArray> arrays = new LinkedHashSet<>();
        logic.value().accesses().forEach(access -> arrays.add(access.array()));
        arrays.remove(logic.target().array());
        arrays.add(logic.target().array());
        return List.copyOf(arrays);
    }

    /** Returns the elements of an array that an iteration uses, the target first. */
    public List<ArrayAccess> accesses(KernelArray array) {
        return accesses()
                .filter(access -> access.array().equals(array))
                .distinct()
                .toList();
    }

    /** Returns the number of iterations of a dimension. */
    public int extent(LoopIndex dimension) {
        return Objects.requireNonNull(extents.get(dimension));
    }

    /** Returns true if each iteration writes an element of its own. */
    public boolean isInjective() {
        return extents.entrySet().stream()
                .filter(loop -> loop.getValue() > 1)
                .allMatch(loop -> isAloneInTarget(loop.getKey()));
    }

    /** Returns the smallest and the largest value of a coordinate in all iterations. */
    public Range range(AffineIndex coordinate) {
        long first = coordinate.constant();
        long last = coordinate.constant();
        for (Map.Entry<LoopIndex, Long> term : coordinate.terms().entrySet()) {
            long reach = Math.multiplyExact(term.getValue(), extent(term.getKey()) - 1L);
            first = Math.addExact(first, Math.min(0, reach));
            last = Math.addExact(last, Math.max(0, reach));
        }
        return new Range(first, last);
    }

    /**
     * The values of a coordinate.
     *
     * @param first the smallest
     * @param last the largest
     */
    public record Range(long first, long last) {}

    private Stream<ArrayAccess> accesses() {
        return Stream.concat(Stream.of(logic.target()), logic.value().accesses());
    }

    private void checkNames() {
        Set<String> names = new HashSet<>(Set.of(name));
        for (LoopIndex index : extents.keySet()) {
            checkUnique(names, "index", index.name());
        }
        for (KernelArray array :
                new LinkedHashSet<>(accesses().map(ArrayAccess::array).toList())) {
            checkUnique(names, "array", array.name());
        }
    }

    private static void checkUnique(Set<String> names, String kind, String name) {
        if (!names.add(name)) {
            throw new IllegalArgumentException("The " + kind + " " + name
                    + " has the name of the kernel, or of another index or array");
        }
    }

    private void checkBounds() {
        accesses().forEach(access -> {
            for (int r = 0; r < access.coordinates().size(); r++) {
                AffineIndex coordinate = access.coordinates().get(r);
                for (LoopIndex index : coordinate.terms().keySet()) {
                    if (!extents.containsKey(index)) {
                        throw new IllegalArgumentException(
                                "The index " + index + " of " + access + " has no loop");
                    }
                }
                Range range = range(coordinate);
                int size = access.array().shape().get(r);
                if (range.first() < 0 || range.last() >= size) {
                    throw new IllegalArgumentException("The coordinate " + coordinate + " of "
                            + access + " is " + range.first() + " to " + range.last()
                            + ", but the array has 0 to " + (size - 1));
                }
            }
        });
    }

    private void checkRoles() {
        KernelArray target = logic.target().array();
        if (target.role().isReadOnly()) {
            throw new IllegalArgumentException("The statement writes the array " + target
                    + ", whose role is " + target.role());
        }
        List<KernelArray> read =
                new ArrayList<>(logic.value().accesses().map(ArrayAccess::array).toList());
        if (logic.operator() != UpdateOperator.SET) {
            read.add(target);
        }
        for (KernelArray array : read) {
            if (array.role() == ArrayRole.OUTPUT) {
                throw new IllegalArgumentException("The statement reads the array " + array
                        + ", but the values of an output are undefined; make it "
                        + ArrayRole.INPUT_OUTPUT);
            }
        }
    }

    private void checkOrder() {
        List<ArrayAccess> reads = logic.value()
                .accesses()
                .filter(access -> access.array().equals(logic.target().array()))
                .toList();
        for (ArrayAccess read : reads) {
            if (!read.equals(logic.target())) {
                throw new IllegalArgumentException("The statement writes " + logic.target()
                        + " and reads " + read + ": the result would depend on the order of the"
                        + " loops; read the former values from another array");
            }
        }
        boolean isOrdered = logic.operator() == UpdateOperator.SET || !reads.isEmpty();
        if (isOrdered && !isInjective()) {
            throw new IllegalArgumentException("Several iterations may write one element "
                    + logic.target() + ": the result would depend on the order of the loops;"
                    + " accumulate, or use each index alone in a coordinate of the target");
        }
    }

    /** Returns true if a coordinate of the target depends on this dimension and on no other. */
    public boolean isAloneInTarget(LoopIndex dimension) {
        return logic.target().coordinates().stream()
                .anyMatch(coordinate -> coordinate.factor(dimension) != 0
                        && coordinate.terms().keySet().stream()
                                .allMatch(index -> index.equals(dimension) || extent(index) == 1));
    }

    /**
     * The statement of a nest, which each iteration executes.
     *
     * @param target the element that is written
     * @param operator the way in which it changes
     * @param value the other operand
     */
    public record NestLogic(ArrayAccess target, UpdateOperator operator, ValueExpression value) {
        /** Returns a text such as {@code C[i, j] += A[i, k] * B[k, j]}. */
        @Override
        public String toString() {
            String text = value.toString();
            boolean isWrapped = value instanceof ValueExpression.Binary && text.startsWith("(");
            return target + " " + operator + " "
                    + (isWrapped ? text.substring(1, text.length() - 1) : text);
        }
    }

    /** The way in which a statement changes its target. */
    public enum UpdateOperator {
        /** {@code target = value}. */
        SET("="),
        /** {@code target += value}. */
        ADD("+="),
        /** {@code target *= value}. */
        MULTIPLY("*="),
        /** {@code target = min(target, value)}. */
        MIN("min="),
        /** {@code target = max(target, value)}. */
        MAX("max=");

        private final String text;

        UpdateOperator(String text) {
            this.text = text;
        }

        /** Returns the operator as plan files have it. */
        @Override
        public String toString() {
            return text;
        }
    }

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
}
