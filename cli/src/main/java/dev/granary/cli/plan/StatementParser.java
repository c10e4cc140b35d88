package dev.granary.cli.plan;

import dev.granary.plans.nest.IndexExpression;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest.ArrayAccess;
import dev.granary.plans.nest.LoopNest.NestLogic;
import dev.granary.plans.nest.LoopNest.UpdateOperator;
import dev.granary.plans.nest.ValueExpression;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Parser of the statement of a nest, such as {@code C[i, j] += A[i, k] * B[k, j]}. Used once, by
 * one thread.
 */
final class StatementParser {
    private static final Pattern TOKEN = Pattern.compile("\\s*("
            + "(?<number>[0-9]+(\\.[0-9]+)?f?)"
            + "|(?<assignment>\\+=|\\*=|min=|max=|=)"
            + "|(?<name>[A-Za-z][A-Za-z0-9_]*)"
            + "|(?<symbol>[-+*/(),\\[\\]])"
            + ")\\s*");
    private static final int MAX_DEPTH = 50;
    private static final int MAX_CHARACTERS = 2_000;

    private final String text;
    private final Map<String, KernelArray> arrays;
    private final List<String> tokens = new ArrayList<>();
    private int next;
    private int depth;

    private StatementParser(String text, Map<String, KernelArray> arrays) {
        this.text = text;
        this.arrays = arrays;
    }

    /**
     * Returns the statement of a text.
     *
     * @throws IllegalArgumentException if the text is no statement on these arrays
     */
    static NestLogic parse(String text, Map<String, KernelArray> arrays) {
        StatementParser parser = new StatementParser(text, arrays);
        parser.split();
        return parser.statement();
    }

    private void split() {
        if (text.length() > MAX_CHARACTERS) {
            throw failure("more than " + MAX_CHARACTERS + " characters");
        }
        Matcher matcher = TOKEN.matcher(text);
        int end = 0;
        while (end < text.length()) {
            if (!matcher.find(end) || matcher.start() != end) {
                throw failure("an unknown character in column " + (end + 1));
            }
            tokens.add(matcher.group(1));
            end = matcher.end();
        }
    }

    private NestLogic statement() {
        ArrayAccess target = access(take());
        String assignment = take();
        for (UpdateOperator operator : UpdateOperator.values()) {
            if (operator.toString().equals(assignment)) {
                ValueExpression value = sum();
                if (next < tokens.size()) {
                    throw failure("'" + tokens.get(next) + "' after its end");
                }
                return target.update(operator, value);
            }
        }
        throw failure("'" + assignment + "' in place of =, +=, *=, min= or max=");
    }

    private ValueExpression sum() {
        if (++depth > MAX_DEPTH) {
            throw failure("more than " + MAX_DEPTH + " nested parentheses");
        }
        ValueExpression sum = product();
        while (isNext("+") || isNext("-")) {
            sum = take().equals("+") ? sum.plus(product()) : sum.minus(product());
        }
        depth--;
        return sum;
    }

    private ValueExpression product() {
        ValueExpression product = factor();
        while (isNext("*") || isNext("/")) {
            product = take().equals("*") ? product.times(factor()) : product.dividedBy(factor());
        }
        return product;
    }

    private ValueExpression factor() {
        boolean isNegated = false;
        while (isNext("-")) {
            take();
            isNegated = !isNegated;
        }
        ValueExpression value = positive(take());
        return isNegated ? value.negated() : value;
    }

    private ValueExpression positive(String token) {
        if (token.equals("(")) {
            ValueExpression value = sum();
            expect(")");
            return value;
        }
        if (Character.isDigit(token.charAt(0))) {
            return number(token);
        }
        if (!isNext("(")) {
            return access(token);
        }
        take();
        ValueExpression first = sum();
        ValueExpression result =
                switch (token) {
                    case "sqrt" -> first.sqrt();
                    case "exp" -> first.exp();
                    case "min" -> first.min(second());
                    case "max" -> first.max(second());
                    default ->
                        throw failure(
                                "the function '" + token + "'; there are sqrt, exp, min and max");
                };
        expect(")");
        return result;
    }

    private ValueExpression second() {
        expect(",");
        return sum();
    }

    private ValueExpression number(String token) {
        try {
            return token.contains(".") || token.endsWith("f")
                    ? ValueExpression.number(Float.parseFloat(token))
                    : ValueExpression.number(Integer.parseInt(token));
        } catch (NumberFormatException e) {
            throw failure("the number '" + token + "', which is too large");
        }
    }

    private ArrayAccess access(String name) {
        KernelArray array = arrays.get(name);
        if (array == null) {
            throw failure("'" + name + "', which is no array of the file");
        }
        expect("[");
        List<IndexExpression> coordinates = new ArrayList<>();
        do {
            coordinates.add(coordinate());
        } while (takeIf(","));
        expect("]");
        return array.at(coordinates.toArray(IndexExpression[]::new));
    }

    /** Returns a sum of indices with factors. */
    private IndexExpression coordinate() {
        IndexExpression sum = IndexExpression.constant(0);
        boolean isFirst = true;
        while (isFirst || isNext("+") || isNext("-")) {
            boolean isNegative = takeIf("-");
            if (!isNegative && !isFirst) {
                expect("+");
            }
            IndexExpression term = term();
            sum = isNegative ? sum.minus(term) : sum.plus(term);
            isFirst = false;
        }
        return sum;
    }

    private IndexExpression term() {
        String token = take();
        if (!Character.isDigit(token.charAt(0))) {
            IndexExpression index = LoopIndex.of(token);
            return takeIf("*") ? index.times(whole(take())) : index;
        }
        long factor = whole(token);
        return takeIf("*") ? LoopIndex.of(take()).times(factor) : IndexExpression.constant(factor);
    }

    private long whole(String token) {
        try {
            return Integer.parseInt(token);
        } catch (NumberFormatException e) {
            throw failure("'" + token + "' in place of a whole number");
        }
    }

    private boolean isNext(String token) {
        return next < tokens.size() && tokens.get(next).equals(token);
    }

    private boolean takeIf(String token) {
        boolean isThere = isNext(token);
        next += isThere ? 1 : 0;
        return isThere;
    }

    private String take() {
        if (next == tokens.size()) {
            throw failure("an end after '" + text.strip() + "', where more is needed");
        }
        return tokens.get(next++);
    }

    private void expect(String token) {
        String found = take();
        if (!found.equals(token)) {
            throw failure("'" + found + "' in place of '" + token + "'");
        }
    }

    private IllegalArgumentException failure(String found) {
        return new IllegalArgumentException(
                "the statement has " + found + "; it must be such as C[i, j] += A[i, k] * B[k, j]");
    }
}
