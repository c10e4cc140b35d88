package dev.granary.plans.nest;

import java.util.Collections;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * A coordinate of an array: a sum of loop indices, each times a number, and a constant. For
 * example, {@code i.times(2).plus(k)}.
 */
public sealed interface IndexExpression permits LoopIndex, IndexExpression.AffineIndex {
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

    /**
     * A sum of indices with factors, and a constant.
     *
     * @param terms the factors by index, without zeros
     * @param constant the constant
     */
    public record AffineIndex(SortedMap<LoopIndex, Long> terms, long constant)
            implements IndexExpression {
        /** Copies the terms, without zeros. */
        public AffineIndex {
            TreeMap<LoopIndex, Long> copy = new TreeMap<>(terms);
            copy.values().removeIf(factor -> factor == 0);
            terms = Collections.unmodifiableSortedMap(copy);
        }

        /** Returns a constant. */
        public static AffineIndex of(long constant) {
            return new AffineIndex(new TreeMap<>(), constant);
        }

        /** Returns an index with the factor one. */
        public static AffineIndex of(LoopIndex index) {
            return new AffineIndex(new TreeMap<>(Map.of(index, 1L)), 0);
        }

        @Override
        public AffineIndex affine() {
            return this;
        }

        /** Returns the factor of an index; 0 if it does not occur. */
        public long factor(LoopIndex index) {
            return terms.getOrDefault(index, 0L);
        }

        /** Returns the sum. */
        public AffineIndex add(AffineIndex other) {
            TreeMap<LoopIndex, Long> sum = new TreeMap<>(terms);
            other.terms.forEach((index, factor) -> sum.merge(index, factor, Math::addExact));
            return new AffineIndex(sum, Math.addExact(constant, other.constant));
        }

        /** Returns the product. */
        public AffineIndex scale(long factor) {
            TreeMap<LoopIndex, Long> product = new TreeMap<>();
            terms.forEach((index, each) -> product.put(index, Math.multiplyExact(each, factor)));
            return new AffineIndex(product, Math.multiplyExact(constant, factor));
        }

        /** Returns this sum with each index replaced. */
        public AffineIndex replace(Function<LoopIndex, AffineIndex> replacement) {
            AffineIndex sum = of(constant);
            for (Map.Entry<LoopIndex, Long> term : terms.entrySet()) {
                sum = sum.add(replacement.apply(term.getKey()).scale(term.getValue()));
            }
            return sum;
        }

        /** Returns this sum with one index replaced. */
        public AffineIndex replace(LoopIndex index, AffineIndex value) {
            return replace(each -> each.equals(index) ? value : of(each));
        }

        /** Returns the terms of the indices that satisfy a condition, without the constant. */
        public AffineIndex linear(Predicate<LoopIndex> condition) {
            TreeMap<LoopIndex, Long> some = new TreeMap<>(terms);
            some.keySet().removeIf(condition.negate());
            return new AffineIndex(some, 0);
        }

        /** Returns the sum as an expression of C, such as {@code i + 2 * k - 1}. */
        @Override
        public String toString() {
            StringBuilder text = new StringBuilder();
            terms.forEach((index, factor) -> append(
                    text,
                    factor < 0,
                    Math.abs(factor) == 1
                            ? index.name()
                            : (text.isEmpty() && factor < 0 ? factor : Math.abs(factor)) + " * "
                                    + index.name()));
            if (constant != 0 || text.isEmpty()) {
                append(
                        text,
                        constant < 0,
                        String.valueOf(text.isEmpty() ? constant : Math.abs(constant)));
            }
            return text.toString();
        }

        private static void append(StringBuilder text, boolean isNegative, String term) {
            if (!text.isEmpty()) {
                text.append(isNegative ? " - " : " + ");
            } else if (isNegative && !term.startsWith("-")) {
                text.append('-');
            }
            text.append(term);
        }
    }
}
