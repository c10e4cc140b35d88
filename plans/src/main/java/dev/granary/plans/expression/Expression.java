package dev.granary.plans.expression;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A parsed text: an operator with its operands, or a name, number or quoted text without any.
 *
 * @param token the operator, {@code ()} for a function and {@code []} for an element, both with
 *     their name as the first operand; or the name, number or text
 */
record Expression(String token, List<Expression> operands) {
    /** Operators of two operands, those that bind least first. */
    private static final List<Set<String>> OPERATORS = List.of(
            Set.of("or"),
            Set.of("<=", ">=", "==", "!=", "<", ">", "=", "+=", "-=", "*=", "/=", "min=", "max="),
            Set.of("+", "-"),
            Set.of("*", "/", "%"));

    private static final int MAX_DEPTH = 50;
    private static final int MAX_CHARACTERS = 2_000;

    /**
     * Parses a text.
     *
     * @param token a token, without blanks around it
     * @param failure returns the exception for a mistake, such as {@code 'B' after its end}
     */
    static Expression parse(
            String text, Pattern token, Function<String, IllegalArgumentException> failure) {
        if (text.length() > MAX_CHARACTERS) {
            throw failure.apply("more than " + MAX_CHARACTERS + " characters");
        }
        List<String> tokens = new ArrayList<>();
        Matcher matcher = token.matcher(text);
        int end = 0;
        while (end < text.length()) {
            if (Character.isWhitespace(text.charAt(end))) {
                end++;
            } else if (matcher.region(end, text.length()).lookingAt()) {
                tokens.add(matcher.group());
                end = matcher.end();
            } else {
                throw failure.apply("an unknown character in column " + (end + 1));
            }
        }
        Parser parser = new Parser(tokens, failure);
        Expression expression = parser.expression(0);
        if (parser.next < tokens.size()) {
            throw failure.apply("'" + parser.take() + "' after its end");
        }
        return expression;
    }

    private static final class Parser {
        private final List<String> tokens;
        private final Function<String, IllegalArgumentException> failure;
        private int next;
        private int depth;

        Parser(List<String> tokens, Function<String, IllegalArgumentException> failure) {
            this.tokens = tokens;
            this.failure = failure;
        }

        Expression expression(int level) {
            if (level == OPERATORS.size()) {
                return operand();
            }
            Expression left = expression(level + 1);
            while (next < tokens.size() && OPERATORS.get(level).contains(tokens.get(next))) {
                left = new Expression(take(), List.of(left, expression(level + 1)));
            }
            return left;
        }

        private Expression operand() {
            if (++depth > MAX_DEPTH) {
                throw failure.apply("more than " + MAX_DEPTH + " nested parentheses");
            }
            String token = take();
            Expression operand;
            if (token.equals("-")) {
                operand = new Expression("-", List.of(operand()));
            } else if (token.equals("(")) {
                operand = expression(0);
                expect(")");
            } else if (!token.equals("or")
                    && (token.startsWith("'") || Character.isLetterOrDigit(token.charAt(0)))) {
                operand = new Expression(token, List.of());
                operand = takeIf("(") ? list("()", ")", operand) : operand;
                operand = takeIf("[") ? list("[]", "]", operand) : operand;
            } else {
                throw failure.apply("'" + token + "' in place of a name or a number");
            }
            depth--;
            return operand;
        }

        private Expression list(String operator, String end, Expression first) {
            List<Expression> operands = new ArrayList<>(List.of(first));
            do {
                operands.add(expression(0));
            } while (takeIf(","));
            expect(end);
            return new Expression(operator, operands);
        }

        private boolean takeIf(String token) {
            boolean isNext = next < tokens.size() && tokens.get(next).equals(token);
            next += isNext ? 1 : 0;
            return isNext;
        }

        private String take() {
            if (next == tokens.size()) {
                throw failure.apply("an end where more is needed");
            }
            return tokens.get(next++);
        }

        private void expect(String token) {
            String found = take();
            if (!found.equals(token)) {
                throw failure.apply("'" + found + "' in place of '" + token + "'");
            }
        }
    }
}
