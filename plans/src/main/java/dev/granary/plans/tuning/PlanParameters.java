package dev.granary.plans.tuning;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.SequencedMap;
import java.util.stream.Collectors;

/**
 * One value for each parameter of a {@link PlanSpace}.
 *
 * @param values the values by the names of their parameters, in the order of the space
 */
public record PlanParameters(SequencedMap<String, String> values) {
    /** Copies the values. */
    public PlanParameters {
        values = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(values));
    }

    /**
     * Returns a value as text.
     *
     * @throws IllegalArgumentException if there is no such parameter
     */
    public String text(String name) {
        String value = values.get(name);
        if (value == null) {
            throw new IllegalArgumentException("There is no parameter " + name
                    + "; the parameters are " + String.join(", ", values.keySet()));
        }
        return value;
    }

    /**
     * Returns a value as a number.
     *
     * @throws IllegalArgumentException if there is no such parameter, or its value is not a number
     */
    public int number(String name) {
        try {
            return Integer.parseInt(text(name));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(
                    "The value of the parameter " + name + " is no number: " + text(name));
        }
    }

    /**
     * Returns true if a value is {@code true}.
     *
     * @throws IllegalArgumentException if there is no such parameter
     */
    public boolean flag(String name) {
        return text(name).equals("true");
    }

    /** Returns text such as {@code tile=16 memory=local}. */
    @Override
    public String toString() {
        return values.entrySet().stream()
                .map(value -> value.getKey() + "=" + value.getValue())
                .collect(Collectors.joining(" "));
    }
}
