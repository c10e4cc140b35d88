package dev.granary.testing;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.opentest4j.TestAbortedException;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.ServiceLoader;

/** Tests of the messages of failed tests, with and without a seed. */
class SeedReporterTest {
    /** A resolver of the platform parameter that registers the extension. */
    static final class Detection implements ParameterResolver {
        @Override
        public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
            return parameter.getParameter().getType() == Optional.class;
        }

        @Override
        public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
            return context.getConfigurationParameter(
                    "junit.jupiter.extensions.autodetection.enabled");
        }
    }

    @Test
    @DisplayName(
            "a failed assertion stays an AssertionError with its stack trace, with the seed after"
                    + " its message")
    void assertion() {
        Throwable failure = assertThrows(AssertionError.class, () -> assertEquals(1, 2));
        Throwable reported =
                assertInstanceOf(AssertionError.class, SeedReporter.withSeed(failure, 57));
        assertEquals("expected: <1> but was: <2> [-Dgranary.seed=57]", reported.getMessage());
        assertArrayEquals(failure.getStackTrace(), reported.getStackTrace());
        assertSame(failure, reported.getCause());
    }

    @Test
    @DisplayName(
            "an exception is reported with its class and the seed, even without a message of its"
                    + " own")
    void exception() {
        Throwable reported = SeedReporter.withSeed(new IOException(), 57);
        assertEquals("java.io.IOException [-Dgranary.seed=57]", reported.getMessage());
        assertTrue(
                reported instanceof RuntimeException && reported.getCause() instanceof IOException);
    }

    @Test
    @DisplayName(
            "a failed assumption, an error of the JVM, and a message with the seed stay unchanged")
    void untouched() {
        Throwable reported = SeedReporter.withSeed(new AssertionError("x"), 57);
        for (Throwable failure : List.of(
                new TestAbortedException("no device"), new StackOverflowError(), reported)) {
            assertSame(failure, SeedReporter.withSeed(failure, 58));
        }
    }

    @Test
    @DisplayName(
            "the extension is registered for each test, and the seed is set after its first use")
    @ExtendWith(Detection.class)
    void registered(Optional<String> isDetected, TestInfo info) {
        assertEquals(Optional.of("true"), isDetected, info::getDisplayName);
        assertTrue(ServiceLoader.load(Extension.class).stream()
                .anyMatch(provider -> provider.type() == SeedReporter.class));
        assertEquals(OptionalLong.of(TestSeed.VALUE), SeedUse.seed());
    }
}
