package dev.granary.plans.expression;

import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * A condition on parameters: comparisons of which one must hold, such as {@code memory != 'local'
 * or tile_i * tile_j <= 1024}. Sums and products are of whole numbers of 64 bits. Immutable.
 */
public final class SpaceConstraint {
    private static final Pattern TOKEN =
            Pattern.compile("\\d{1,18}|[a-z][a-z0-9_]*|'[^']*'|<=|>=|==|!=|[-+*/%()<>]");
    private static final Set<String> CONDITIONS = Set.of("or", "<=", ">=", "==", "!=", "<", ">");

    private final String text;
    private final Expression condition;
    private final Set<String> names = new LinkedHashSet<>();

    /**
     * Reads a constraint.
     *
     * @throws IllegalArgumentException if the text is not a constraint; the message has the reason
     */
    public SpaceConstraint(String text) {
        this.text = text;
        this.condition = Expression.parse(text, TOKEN, this::wrong);
        check(condition, true);
    }

    private void check(Expression part, boolean isCondition) {
        String token = part.token();
        if (isCondition && !CONDITIONS.contains(token)) {
            throw wrong("a comparison such as <= is missing");
        }
        if (!isCondition && (CONDITIONS.contains(token) || token.equals("()"))) {
            throw wrong("'" + token + "' in place of a parameter or a number");
        }
        if (part.operands().isEmpty() && Character.isLetter(token.charAt(0))) {
            names.add(token);
        }
        part.operands().forEach(operand -> check(operand, token.equals("or")));
    }

    /** Returns the names of the parameters in it. */
    public Set<String> names() {
        return names;
    }

    /**
     * Returns true if one of the comparisons holds.
     *
     * @param parameters the values of all {@link #names}
     * @throws IllegalArgumentException if a value that must be a number is not, a divisor is 0, or
     *     a result exceeds 64 bits
     */
    public boolean holds(Map<String, String> parameters) {
        try {
            return value(condition, parameters).equals("true");
        } catch (ArithmeticException e) {
            throw wrong(e.getMessage() + " for " + parameters);
        } catch (NumberFormatException e) {
            throw wrong("a text is compared or computed as a number for " + parameters);
        }
    }

    private static String value(Expression part, Map<String, String> parameters) {
        String token = part.token();
        if (part.operands().isEmpty()) {
            return token.startsWith("'")
                    ? token.substring(1, token.length() - 1)
                    : parameters.getOrDefault(token, token);
        }
        boolean isSign = part.operands().size() == 1;
        String left = isSign ? "0" : value(part.operands().getFirst(), parameters);
        if (token.equals("or") && left.equals("true")) {
            return left; // the right side may divide by 0
        }
        String right = value(part.operands().getLast(), parameters);
        Object result =
                switch (token) {
                    case "or" -> right;
                    case "==" -> left.equals(right);
                    case "!=" -> !left.equals(right);
                    case "<" -> number(left) < number(right);
                    case ">" -> number(left) > number(right);
                    case "<=" -> number(left) <= number(right);
                    case ">=" -> number(left) >= number(right);
                    case "+" -> Math.addExact(number(left), number(right));
                    case "-" -> Math.subtractExact(number(left), number(right));
                    case "*" -> Math.multiplyExact(number(left), number(right));
                    case "/" -> Math.floorDiv(number(left), number(right));
                    default -> Math.floorMod(number(left), number(right));
                };
        return result.toString();
    }

    private static long number(String value) {
        return Long.parseLong(value);
    }

    private IllegalArgumentException wrong(String reason) {
        return new IllegalArgumentException("The constraint \"" + text + "\": " + reason);
    }

    @Override
    public String toString() {
        return text;
    }
}
