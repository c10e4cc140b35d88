package dev.granary.plans.expression;

import dev.granary.plans.nest.IndexExpression;
import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest.ArrayAccess;
import dev.granary.plans.nest.LoopNest.NestLogic;
import dev.granary.plans.nest.LoopNest.UpdateOperator;
import dev.granary.plans.nest.ValueExpression;

import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Parser of the statement of a nest, such as {@code C[i, j] += A[i, k] * B[k, j]}.
 *
 * @param arrays the arrays by name
 */
public record StatementParser(Map<String, KernelArray> arrays) {
    private static final Pattern TOKEN = Pattern.compile("[0-9]+(\\.[0-9]+)?f?"
            + "|([-+*/]|min|max)?="
            + "|[A-Za-z][A-Za-z0-9_]*"
            + "|[-+*/(),\\[\\]]");

    /**
     * Returns the statement of a text.
     *
     * @throws IllegalArgumentException if the text is no statement on these arrays
     */
    public NestLogic parse(String text) {
        Expression statement = Expression.parse(text, TOKEN, StatementParser::failure);
        for (UpdateOperator operator : UpdateOperator.values()) {
            if (operator.toString().equals(statement.token())) {
                return access(statement.operands().getFirst())
                        .update(operator, value(statement.operands().getLast()));
            }
        }
        throw failure("'" + statement.token() + "' in place of =, +=, *=, min= or max=");
    }

    private ValueExpression value(Expression value) {
        List<Expression> operands = value.operands();
        return switch (value.token()) {
            case "[]" -> access(value);
            case "()" -> function(operands);
            case "+" -> value(operands.getFirst()).plus(value(operands.getLast()));
            case "*" -> value(operands.getFirst()).times(value(operands.getLast()));
            case "/" -> value(operands.getFirst()).dividedBy(value(operands.getLast()));
            case "-" ->
                operands.size() == 1
                        ? value(operands.getFirst()).negated()
                        : value(operands.getFirst()).minus(value(operands.getLast()));
            default -> {
                if (!Character.isDigit(value.token().charAt(0))) {
                    throw failure("'" + value.token() + "' in place of a value");
                }
                yield number(value.token());
            }
        };
    }

    private ValueExpression function(List<Expression> operands) {
        String name = operands.getFirst().token();
        List<ValueExpression> values =
                operands.stream().skip(1).map(this::value).toList();
        return switch (name + " of " + values.size()) {
            case "sqrt of 1" -> values.getFirst().sqrt();
            case "exp of 1" -> values.getFirst().exp();
            case "min of 2" -> values.getFirst().min(values.getLast());
            case "max of 2" -> values.getFirst().max(values.getLast());
            default ->
                throw failure("the function '" + name
                        + "'; there are sqrt, exp, min and max of one and two values");
        };
    }

    private static ValueExpression number(String token) {
        try {
            return token.contains(".") || token.endsWith("f")
                    ? ValueExpression.number(Float.parseFloat(token))
                    : ValueExpression.number(Integer.parseInt(token));
        } catch (NumberFormatException e) {
            throw failure("the number '" + token + "', which is too large");
        }
    }

    private ArrayAccess access(Expression element) {
        String name = element.operands().isEmpty()
                ? ""
                : element.operands().getFirst().token();
        KernelArray array = arrays.get(name);
        if (array == null || !element.token().equals("[]")) {
            throw failure("'" + (name.isEmpty() ? element.token() : name)
                    + "', which is no array of the file");
        }
        return array.at(element.operands().stream()
                .skip(1)
                .map(StatementParser::coordinate)
                .toArray(IndexExpression[]::new));
    }

    private static AffineIndex coordinate(Expression sum) {
        if (sum.operands().isEmpty()) {
            return Character.isDigit(sum.token().charAt(0))
                    ? AffineIndex.of(whole(sum.token()))
                    : AffineIndex.of(LoopIndex.of(sum.token()));
        }
        AffineIndex left = coordinate(sum.operands().getFirst());
        AffineIndex right = coordinate(sum.operands().getLast());
        if (sum.token().equals("+")) {
            return left.add(right);
        }
        if (sum.token().equals("-")) {
            return sum.operands().size() == 1 ? left.scale(-1) : left.add(right.scale(-1));
        }
        if (sum.token().equals("*") && (left.terms().isEmpty() || right.terms().isEmpty())) {
            return left.terms().isEmpty()
                    ? right.scale(left.constant())
                    : left.scale(right.constant());
        }
        throw failure("a coordinate that is no sum of indices with whole factors");
    }

    private static int whole(String token) {
        try {
            return Integer.parseInt(token);
        } catch (NumberFormatException e) {
            throw failure("'" + token + "' in place of a whole number");
        }
    }

    private static IllegalArgumentException failure(String found) {
        return new IllegalArgumentException(
                "the statement has " + found + "; it must be such as C[i, j] += A[i, k] * B[k, j]");
    }
}
