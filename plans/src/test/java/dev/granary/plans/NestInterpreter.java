package dev.granary.plans;

import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.nest.LoopNest.ArrayAccess;
import dev.granary.plans.nest.ValueExpression;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The scalar reference of nests: it executes each iteration in the order of the declaration. */
final class NestInterpreter {
    private final LoopNest nest;
    private final Map<KernelArray, double[]> memory;
    private final Map<KernelArray, List<Long>> strides = new HashMap<>();
    private final Map<LoopIndex, Integer> indices = new HashMap<>();

    private NestInterpreter(LoopNest nest, Map<KernelArray, double[]> memory) {
        this.nest = nest;
        this.memory = memory;
        nest.arrays().forEach(array -> strides.put(array, array.layout().strides(array.shape())));
    }

    /**
     * Executes a nest.
     *
     * @param memory the elements of each array in the order of memory, gaps included
     */
    static void execute(LoopNest nest, Map<KernelArray, double[]> memory) {
        new NestInterpreter(nest, memory).loop(List.copyOf(nest.extents().keySet()), 0);
    }

    private void loop(List<LoopIndex> order, int depth) {
        if (depth == order.size()) {
            statement();
            return;
        }
        for (int value = 0; value < nest.extent(order.get(depth)); value++) {
            indices.put(order.get(depth), value);
            loop(order, depth + 1);
        }
    }

    private void statement() {
        ArrayAccess target = nest.logic().target();
        double[] elements = Objects.requireNonNull(memory.get(target.array()));
        int place = place(target);
        double value = value(nest.logic().value());
        boolean isFloating =
                nest.logic().value().isFloating() || target.array().type().isFloating();
        double updated =
                switch (nest.logic().operator()) {
                    case SET -> value;
                    case ADD -> rounded(elements[place] + value, isFloating);
                    case MULTIPLY -> rounded(elements[place] * value, isFloating);
                    case MIN -> Math.min(elements[place], value);
                    case MAX -> Math.max(elements[place], value);
                };
        elements[place] = stored(target.array().type(), updated);
    }

    private int place(ArrayAccess access) {
        long place = 0;
        for (int r = 0; r < access.coordinates().size(); r++) {
            AffineIndex coordinate = access.coordinates().get(r);
            long value = coordinate.constant();
            for (Map.Entry<LoopIndex, Long> term : coordinate.terms().entrySet()) {
                value += term.getValue() * Objects.requireNonNull(indices.get(term.getKey()));
            }
            if (value < 0 || value >= access.array().shape().get(r)) {
                throw new AssertionError("the reference leaves " + access + " at " + indices);
            }
            place += value * Objects.requireNonNull(strides.get(access.array())).get(r);
        }
        return Math.toIntExact(place);
    }

    private double value(ValueExpression expression) {
        return switch (expression) {
            case ArrayAccess access ->
                Objects.requireNonNull(memory.get(access.array()))[place(access)];
            case ValueExpression.FloatLiteral number -> number.value();
            case ValueExpression.IntLiteral number -> number.value();
            case ValueExpression.Binary binary -> {
                double left = value(binary.left());
                double right = value(binary.right());
                yield rounded(
                        switch (binary.operator()) {
                            case PLUS -> left + right;
                            case MINUS -> left - right;
                            case TIMES -> left * right;
                            case DIVIDED_BY -> left / right;
                            case MIN -> Math.min(left, right);
                            case MAX -> Math.max(left, right);
                        },
                        binary.isFloating());
            }
            case ValueExpression.Unary unary -> {
                double operand = value(unary.operand());
                yield rounded(
                        switch (unary.operator()) {
                            case NEGATE -> -operand;
                            case SQRT -> Math.sqrt(operand);
                            case EXP -> Math.exp(operand);
                        },
                        unary.isFloating());
            }
        };
    }

    private static double rounded(double value, boolean isFloating) {
        return isFloating ? (float) value : (int) (long) value;
    }

    /** Returns a value as a memory of that type holds it. */
    static double stored(ElementType type, double value) {
        return switch (type) {
            case FLOAT -> (float) value;
            case HALF -> Float.float16ToFloat(Float.floatToFloat16((float) value));
            case INT32 -> (int) value;
            case INT8 -> (byte) (int) value;
        };
    }
}
