package dev.granary.plans.nest;

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
