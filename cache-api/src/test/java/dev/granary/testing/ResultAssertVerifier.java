package dev.granary.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.opentest4j.AssertionFailedError;

import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** Checks of assertions about sealed results: each must accept its own cases and no other. */
final class ResultAssertVerifier {
    private ResultAssertVerifier() {}

    /**
     * Checks one assertion for each case of {@code type}: it accepts the result that it is mapped
     * to, and refuses all others.
     */
    static <R> void eachAcceptsItsOwn(Class<?> type, Map<R, Consumer<R>> assertions) {
        assertEquals(
                Set.copyOf(Arrays.asList(type.getPermittedSubclasses())),
                assertions.keySet().stream().map(Object::getClass).collect(Collectors.toSet()),
                "a result of each case");
        assertions.forEach((own, assertion) -> {
            assertion.accept(own);
            assertions.keySet().stream()
                    .filter(other -> !other.equals(own))
                    .forEach(other -> refuses(assertion, other));
        });
    }

    /** Checks that {@code assertion} accepts some of the results, and refuses the others. */
    static <R> void acceptsOnly(Collection<R> accepted, Collection<R> all, Consumer<R> assertion) {
        accepted.forEach(assertion);
        all.stream()
                .filter(other -> !accepted.contains(other))
                .forEach(other -> refuses(assertion, other));
    }

    /** Checks that {@code assertion} fails for {@code result}, and shows it. */
    static <R> void refuses(Consumer<R> assertion, R result) {
        String message = assertThrows(AssertionFailedError.class, () -> assertion.accept(result))
                .getMessage();
        assertTrue(message.contains(String.valueOf(result)), message);
    }
}
