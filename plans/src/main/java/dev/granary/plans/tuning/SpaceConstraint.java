package dev.granary.plans.tuning;

import dev.granary.plans.tuning.PlanSpace.PlanParameters;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongBinaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A condition on parameters: comparisons of which one must hold, such as {@code memory != 'local'
 * or tile_i * tile_j <= 1024}. Sums and products are of whole numbers of 64 bits.
 */
final class SpaceConstraint {
    private static final Pattern TOKEN =
            Pattern.compile("\\s*(?:(?<number>\\d{1,18})|(?<name>[a-z][a-z0-9_]*)|'(?<text>[^']*)'"
                    + "|(?<symbol><=|>=|==|!=|[-+*/%()<>]))");
    private static final Set<String> COMPARISONS = Set.of("<=", ">=", "==", "!=", "<", ">");

    private final String text;
    private final List<Comparison> alternatives = new ArrayList<>();
    private final Set<String> names = new LinkedHashSet<>();

    // of the parser
    private final List<String> tokens = new ArrayList<>();
    private int position;

    private SpaceConstraint(String text) {
        this.text = text;
    }

    /** A part of an expression with a value for each point of a space. */
    private interface Term {
        String value(PlanParameters parameters);
    }

    /** Two terms with the relation that they must have. */
    private record Comparison(Term left, String relation, Term right) {
        boolean holds(PlanParameters parameters) {
            String a = left.value(parameters);
            String b = right.value(parameters);
            return switch (relation) {
                case "==" -> a.equals(b);
                case "!=" -> !a.equals(b);
                case "<" -> number(a) < number(b);
                case ">" -> number(a) > number(b);
                case "<=" -> number(a) <= number(b);
                default -> number(a) >= number(b);
            };
        }
    }

    /**
     * Reads a constraint.
     *
     * @throws IllegalArgumentException if the text is not a constraint; the message has the reason
     */
    static SpaceConstraint parse(String text) {
        SpaceConstraint constraint = new SpaceConstraint(text);
        constraint.tokenize();
        do {
            constraint.alternatives.add(constraint.comparison());
        } while (constraint.accept("or"));
        if (constraint.position < constraint.tokens.size()) {
            throw constraint.wrong("unexpected " + constraint.tokens.get(constraint.position));
        }
        return constraint;
    }

    /** Returns the names of the parameters in it. */
    Set<String> names() {
        return names;
    }

    /**
     * Returns true if one of the comparisons holds.
     *
     * @throws IllegalArgumentException if a value that must be a number is not, a divisor is 0, or
     *     a result exceeds 64 bits
     */
    boolean holds(PlanParameters parameters) {
        try {
            return alternatives.stream().anyMatch(each -> each.holds(parameters));
        } catch (ArithmeticException e) {
            throw wrong(e.getMessage() + " for " + parameters);
        } catch (NumberFormatException e) {
            throw wrong("a text is compared or computed as a number for " + parameters);
        }
    }

    private void tokenize() {
        Matcher matcher = TOKEN.matcher(text);
        int end = 0;
        while (!text.substring(end).isBlank()) {
            if (!matcher.find(end) || matcher.start() != end) {
                int blanks =
                        text.length() - end - text.substring(end).stripLeading().length();
                throw wrong("unknown character in column " + (end + blanks + 1));
            }
            String quoted = matcher.group("text");
            tokens.add(quoted == null ? matcher.group().strip() : "'" + quoted);
            end = matcher.end();
        }
    }

    private Comparison comparison() {
        Term left = sum();
        String relation = position < tokens.size() ? tokens.get(position) : "";
        if (!COMPARISONS.contains(relation)) {
            throw wrong("a comparison such as <= is missing");
        }
        position++;
        return new Comparison(left, relation, sum());
    }

    private Term sum() {
        Term term = product();
        while (true) {
            if (accept("+")) {
                term = computed(term, product(), Math::addExact);
            } else if (accept("-")) {
                term = computed(term, product(), Math::subtractExact);
            } else {
                return term;
            }
        }
    }

    private Term product() {
        Term term = factor();
        while (true) {
            if (accept("*")) {
                term = computed(term, factor(), Math::multiplyExact);
            } else if (accept("/")) {
                term = computed(term, factor(), Math::floorDiv);
            } else if (accept("%")) {
                term = computed(term, factor(), Math::floorMod);
            } else {
                return term;
            }
        }
    }

    private Term factor() {
        if (accept("(")) {
            Term inside = sum();
            if (!accept(")")) {
                throw wrong(") is missing");
            }
            return inside;
        }
        @Nullable String token = position < tokens.size() ? tokens.get(position++) : null;
        if (token == null || token.equals("or") || !Character.isLetterOrDigit(token.charAt(0))) {
            if (token != null && token.startsWith("'")) {
                String literal = token.substring(1);
                return _ -> literal;
            }
            throw wrong("a parameter or a number is missing");
        }
        if (Character.isDigit(token.charAt(0))) {
            String number = String.valueOf(Long.parseLong(token));
            return _ -> number;
        }
        names.add(token);
        return parameters -> parameters.text(token);
    }

    private static Term computed(Term left, Term right, LongBinaryOperator operator) {
        return parameters -> String.valueOf(operator.applyAsLong(
                number(left.value(parameters)), number(right.value(parameters))));
    }

    private static long number(String value) {
        return Long.parseLong(value);
    }

    private boolean accept(String token) {
        boolean isNext = position < tokens.size() && tokens.get(position).equals(token);
        position += isNext ? 1 : 0;
        return isNext;
    }

    private IllegalArgumentException wrong(@Nullable String reason) {
        return new IllegalArgumentException("The constraint \"" + text + "\": " + reason);
    }

    @Override
    public String toString() {
        return text;
    }
}
