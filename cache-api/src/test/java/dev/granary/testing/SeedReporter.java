package dev.granary.testing;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.LifecycleMethodExecutionExceptionHandler;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/**
 * A JUnit extension that appends the seed to the message of a failed test, once the seed was used in the
 * process. Builds show the messages of failures, but seldom earlier output. Found by the service loader
 * in all modules; {@code junit-platform.properties} switches that on. Thread-safe.
 */
public final class SeedReporter implements TestExecutionExceptionHandler, LifecycleMethodExecutionExceptionHandler {
    private static final String PROPERTY = "granary.seed=";

    /** Used by JUnit. */
    public SeedReporter() {}

    @Override
    public void handleTestExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        throw told(failure);
    }

    @Override
    public void handleBeforeAllMethodExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        throw told(failure);
    }

    @Override
    public void handleBeforeEachMethodExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        throw told(failure);
    }

    @Override
    public void handleAfterEachMethodExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        throw told(failure);
    }

    @Override
    public void handleAfterAllMethodExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        throw told(failure);
    }

    private static Throwable told(Throwable failure) {
        return SeedUse.seed().isPresent() ? told(failure, SeedUse.seed().getAsLong()) : failure;
    }

    /**
     * The failure with the seed in its message. Returned unchanged: a failure that has it already, a failed
     * assumption, an error of the JVM.
     */
    static Throwable told(Throwable failure, long seed) {
        boolean isTold = String.valueOf(failure.getMessage()).contains(PROPERTY);
        if (isTold || failure instanceof TestAbortedException || failure instanceof VirtualMachineError) {
            return failure;
        }
        String suffix = " [-D" + PROPERTY + seed + "]";
        Throwable told = failure instanceof AssertionError
                ? new AssertionFailedError(failure.getMessage() + suffix, failure)
                : new FailedException(failure + suffix, failure);
        told.setStackTrace(failure.getStackTrace()); // so that the line of the test is shown
        return told;
    }

    /** A test that ended with an exception, and the seed. */
    static final class FailedException extends RuntimeException {
        FailedException(String message, Throwable cause) {
            super(message, cause);
        }
    }
}
