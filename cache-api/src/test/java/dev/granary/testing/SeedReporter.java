package dev.granary.testing;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.LifecycleMethodExecutionExceptionHandler;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/**
 * A JUnit extension that appends the seed to the message of a failed test if the process has used
 * the seed. Builds show messages of failures, but rarely earlier output. The service loader finds
 * it in all modules; {@code junit-platform.properties} enables this. Thread-safe.
 *
 * <p>The handlers look alike: JUnit has one method for each phase of a test.
 */
public final class SeedReporter
        implements TestExecutionExceptionHandler, LifecycleMethodExecutionExceptionHandler {
    private static final String PROPERTY = "granary.seed=";

    /** Used by JUnit. */
    public SeedReporter() {}

    @Override
    public void handleTestExecutionException(ExtensionContext context, Throwable failure)
            throws Throwable {
        throw withSeed(failure);
    }

    @Override
    public void handleBeforeAllMethodExecutionException(ExtensionContext context, Throwable failure)
            throws Throwable {
        throw withSeed(failure);
    }

    @Override
    public void handleBeforeEachMethodExecutionException(
            ExtensionContext context, Throwable failure) throws Throwable {
        throw withSeed(failure);
    }

    @Override
    public void handleAfterEachMethodExecutionException(ExtensionContext context, Throwable failure)
            throws Throwable {
        throw withSeed(failure);
    }

    @Override
    public void handleAfterAllMethodExecutionException(ExtensionContext context, Throwable failure)
            throws Throwable {
        throw withSeed(failure);
    }

    private static Throwable withSeed(Throwable failure) {
        return SeedUse.seed().isPresent() ? withSeed(failure, SeedUse.seed().getAsLong()) : failure;
    }

    /**
     * Returns the failure with the seed in its message. Returns a failure unchanged if it already
     * contains the seed, is a failed assumption, or an error of the JVM.
     */
    static Throwable withSeed(Throwable failure, long seed) {
        boolean hasSeed = String.valueOf(failure.getMessage()).contains(PROPERTY);
        if (hasSeed
                || failure instanceof TestAbortedException
                || failure instanceof VirtualMachineError) {
            return failure;
        }
        String suffix = " [-D" + PROPERTY + seed + "]";
        Throwable result = failure instanceof AssertionError
                ? new AssertionFailedError(failure.getMessage() + suffix, failure)
                : new FailedException(failure + suffix, failure);
        result.setStackTrace(failure.getStackTrace()); // so that the line of the test is shown
        return result;
    }

    /** The failure of a test that ended with an exception, with the seed. */
    static final class FailedException extends RuntimeException {
        FailedException(String message, Throwable cause) {
            super(message, cause);
        }
    }
}
