package dev.granary.testing;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.Stream;

/**
 * An assertion about one value of a sealed result type, with a method for each case.
 *
 * <p>The method of a case returns the content of the case, if it has any. A failure shows the whole
 * result.
 *
 * @param <A> the type of the assertion
 * @param <R> the type of the result
 */
public abstract class ResultAssert<A extends ResultAssert<A, R>, R> {
    private final R actual;
    private String description = "";

    /** Creates the assertion about {@code actual}. */
    protected ResultAssert(R actual) {
        this.actual = actual;
    }

    /** Sets the description that a failure shows before the result. */
    @SuppressWarnings("unchecked") // A is the type of this object, as its declaration states
    public final A as(String description) {
        this.description = description;
        return (A) this;
    }

    /** Asserts that the result is that case, and returns it. */
    public final <C extends R> C is(Class<? extends C> expected) {
        return assertInstanceOf(expected, actual, this::message);
    }

    /** Asserts that the result is one of those cases. */
    @SafeVarargs
    @SuppressWarnings("varargs") // the array is only read
    public final void isOneOf(Class<? extends R>... expected) {
        assertTrue(
                Stream.of(expected).anyMatch(one -> one.isInstance(actual)),
                () -> message() + " is none of " + names(expected));
    }

    /** Asserts that the result is none of those cases. */
    @SafeVarargs
    @SuppressWarnings("varargs") // the array is only read
    public final void isNoneOf(Class<? extends R>... unexpected) {
        assertTrue(
                Stream.of(unexpected).noneMatch(one -> one.isInstance(actual)),
                () -> message() + " is one of " + names(unexpected));
    }

    private static List<String> names(Class<?>[] cases) {
        return Stream.of(cases).map(Class::getSimpleName).toList();
    }

    /** Returns the description and the whole result. */
    protected final String message() {
        return description.isEmpty() ? String.valueOf(actual) : description + ": " + actual;
    }
}
