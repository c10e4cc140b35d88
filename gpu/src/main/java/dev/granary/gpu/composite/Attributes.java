package dev.granary.gpu.composite;

import java.util.Collections;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Named modifiers of an operation beside its own parameters, such as scales, zero points or
 * post-operations. They are part of the key, by value. Immutable.
 */
public final class Attributes {
    private static final Attributes NONE = new Attributes(new TreeMap<>());

    private final NavigableMap<String, Object> values;

    private Attributes(NavigableMap<String, Object> values) {
        this.values = Collections.unmodifiableNavigableMap(values);
    }

    /** Returns the empty set of attributes. */
    public static Attributes none() {
        return NONE;
    }

    /** Returns these attributes and a text. */
    public Attributes with(String name, String text) {
        return and(name, text);
    }

    /** Returns these attributes and a number. */
    public Attributes with(String name, long number) {
        return and(name, number);
    }

    /** Returns these attributes and a copy of the numbers, which are compared bit by bit. */
    public Attributes with(String name, float... numbers) {
        return and(
                name,
                IntStream.range(0, numbers.length).mapToObj(i -> numbers[i]).toList());
    }

    /** Returns true if there is an attribute of that name. */
    public boolean has(String name) {
        return values.containsKey(name);
    }

    /**
     * Returns the text of that name.
     *
     * @throws IllegalArgumentException if there is none
     */
    public String text(String name) {
        return value(name, String.class);
    }

    /**
     * Returns the number of that name.
     *
     * @throws IllegalArgumentException if there is none
     */
    public long number(String name) {
        return value(name, Long.class);
    }

    /**
     * Returns a copy of the numbers of that name.
     *
     * @throws IllegalArgumentException if there are none
     */
    public float[] floats(String name) {
        List<?> numbers = value(name, List.class);
        float[] copy = new float[numbers.size()];
        for (int i = 0; i < copy.length; i++) {
            copy[i] = (Float) numbers.get(i);
        }
        return copy;
    }

    /** Returns all values by name: texts, numbers, and lists of numbers. */
    NavigableMap<String, Object> values() {
        return values;
    }

    private <T> T value(String name, Class<T> type) {
        Object value = values.get(name);
        if (!type.isInstance(value)) {
            throw new IllegalArgumentException(
                    "There is no attribute " + name + " of this type among " + values);
        }
        return type.cast(value);
    }

    private Attributes and(String name, Object value) {
        TreeMap<String, Object> more = new TreeMap<>(values);
        more.put(name, value);
        return new Attributes(more);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Attributes that && values.equals(that.values);
    }

    @Override
    public int hashCode() {
        return values.hashCode();
    }

    @Override
    public String toString() {
        return values.toString();
    }
}
