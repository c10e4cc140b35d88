package dev.granary.plans.nest;

import dev.granary.plans.nest.LoopNest.ArrayAccess;

import java.util.Locale;
import java.util.stream.Stream;

/**
 * A value that an iteration computes from elements and numbers. It is computed as 32-bit floating
 * point if an operand is, else as 32-bit integers that wrap.
 */
public sealed interface ValueExpression
        permits ArrayAccess,
                ValueExpression.FloatLiteral,
                ValueExpression.IntLiteral,
                ValueExpression.Binary,
                ValueExpression.Unary {
    /** Returns a number of the type {@link ElementType#FLOAT}. */
    static ValueExpression number(float value) {
        return new FloatLiteral(value);
    }

    /** Returns a number of the type {@link ElementType#INT32}. */
    static ValueExpression number(int value) {
        return new IntLiteral(value);
    }

    /** Returns the sum. */
    default ValueExpression plus(ValueExpression other) {
        return new Binary(BinaryOperator.PLUS, this, other);
    }

    /** Returns the difference. */
    default ValueExpression minus(ValueExpression other) {
        return new Binary(BinaryOperator.MINUS, this, other);
    }

    /** Returns the product. */
    default ValueExpression times(ValueExpression other) {
        return new Binary(BinaryOperator.TIMES, this, other);
    }

    /** Returns the quotient, always as floating point. */
    default ValueExpression dividedBy(ValueExpression other) {
        return new Binary(BinaryOperator.DIVIDED_BY, this, other);
    }

    /** Returns the smaller of both. */
    default ValueExpression min(ValueExpression other) {
        return new Binary(BinaryOperator.MIN, this, other);
    }

    /** Returns the larger of both. */
    default ValueExpression max(ValueExpression other) {
        return new Binary(BinaryOperator.MAX, this, other);
    }

    /** Returns the value with the opposite sign. */
    default ValueExpression negated() {
        return new Unary(UnaryOperator.NEGATE, this);
    }

    /** Returns the square root, as floating point. */
    default ValueExpression sqrt() {
        return new Unary(UnaryOperator.SQRT, this);
    }

    /** Returns the exponential function, as floating point. */
    default ValueExpression exp() {
        return new Unary(UnaryOperator.EXP, this);
    }

    /** Returns the elements that the value is computed from, from left to right. */
    default Stream<ArrayAccess> accesses() {
        return switch (this) {
            case ArrayAccess access -> Stream.of(access);
            case FloatLiteral _, IntLiteral _ -> Stream.empty();
            case Binary binary ->
                Stream.concat(binary.left().accesses(), binary.right().accesses());
            case Unary unary -> unary.operand().accesses();
        };
    }

    /** Returns true if the value is computed as floating point. */
    default boolean isFloating() {
        return switch (this) {
            case ArrayAccess access -> access.array().type().isFloating();
            case FloatLiteral _ -> true;
            case IntLiteral _ -> false;
            case Binary binary ->
                binary.operator() == BinaryOperator.DIVIDED_BY
                        || binary.left().isFloating()
                        || binary.right().isFloating();
            case Unary unary ->
                unary.operator() != UnaryOperator.NEGATE || unary.operand().isFloating();
        };
    }

    /** An operator of two values. */
    enum BinaryOperator {
        /** The sum. */
        PLUS("+"),
        /** The difference. */
        MINUS("-"),
        /** The product. */
        TIMES("*"),
        /** The quotient. */
        DIVIDED_BY("/"),
        /** The smaller value. */
        MIN(""),
        /** The larger value. */
        MAX("");

        private final String symbol;

        BinaryOperator(String symbol) {
            this.symbol = symbol;
        }

        /** Returns the operator of two texts in OpenCL C, in parentheses where needed. */
        public String apply(String left, String right) {
            return switch (this) {
                case PLUS, MINUS, TIMES, DIVIDED_BY ->
                    "(" + left + " " + symbol + " " + right + ")";
                case MIN, MAX -> name().toLowerCase(Locale.ROOT) + "(" + left + ", " + right + ")";
            };
        }
    }

    /** A function of one value. */
    enum UnaryOperator {
        /** The opposite sign. */
        NEGATE,
        /** The square root. */
        SQRT,
        /** The exponential function. */
        EXP;

        /** Returns the function of a text in OpenCL C. */
        public String apply(String operand) {
            return this == NEGATE
                    ? "(-" + operand + ")"
                    : name().toLowerCase(Locale.ROOT) + "(" + operand + ")";
        }
    }

    /**
     * A number of floating point.
     *
     * @param value the number
     */
    record FloatLiteral(float value) implements ValueExpression {
        /**
         * Checks the number.
         *
         * @throws IllegalArgumentException if it is infinite or not a number
         */
        public FloatLiteral {
            if (!Float.isFinite(value)) {
                throw new IllegalArgumentException("A number must be finite, not " + value);
            }
        }

        @Override
        public String toString() {
            return value + "f";
        }
    }

    /**
     * An integer.
     *
     * @param value the number
     */
    record IntLiteral(int value) implements ValueExpression {
        @Override
        public String toString() {
            return String.valueOf(value);
        }
    }

    /**
     * An operation on two values.
     *
     * @param operator the operation
     * @param left the first operand
     * @param right the second operand
     */
    record Binary(BinaryOperator operator, ValueExpression left, ValueExpression right)
            implements ValueExpression {
        @Override
        public String toString() {
            return operator.apply(left.toString(), right.toString());
        }
    }

    /**
     * A function of one value.
     *
     * @param operator the function
     * @param operand the value
     */
    record Unary(UnaryOperator operator, ValueExpression operand) implements ValueExpression {
        @Override
        public String toString() {
            return operator.apply(operand.toString());
        }
    }
}
