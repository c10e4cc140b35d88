package dev.granary.plans.nest;

/**
 * A coordinate of an array: a sum of loop indices, each times a number, and a constant. For
 * example, {@code i.times(2).plus(k)}.
 */
public sealed interface IndexExpression permits LoopIndex, AffineIndex {
    /** Returns the expression without indices. */
    static IndexExpression constant(long value) {
        return AffineIndex.of(value);
    }

    /** Returns this expression as terms. */
    AffineIndex affine();

    /** Returns the sum. */
    default IndexExpression plus(IndexExpression other) {
        return affine().add(other.affine());
    }

    /** Returns the sum. */
    default IndexExpression plus(long constant) {
        return affine().add(AffineIndex.of(constant));
    }

    /** Returns the difference. */
    default IndexExpression minus(IndexExpression other) {
        return affine().add(other.affine().scale(-1));
    }

    /** Returns the difference. */
    default IndexExpression minus(long constant) {
        return plus(-constant);
    }

    /** Returns the product. */
    default IndexExpression times(long factor) {
        return affine().scale(factor);
    }
}
