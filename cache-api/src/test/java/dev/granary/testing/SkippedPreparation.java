package dev.granary.testing;

import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.LifecycleMethodExecutionExceptionHandler;
import org.opentest4j.TestAbortedException;

/**
 * Extension of all tests: skips each test of a class whose {@code @BeforeAll} method skips it. By
 * itself, JUnit reports no test of such a class, not even a skipped one.
 */
public final class SkippedPreparation
        implements LifecycleMethodExecutionExceptionHandler, BeforeEachCallback {
    private static final ExtensionContext.Namespace NAMESPACE =
            ExtensionContext.Namespace.create(SkippedPreparation.class);

    @Override
    public void handleBeforeAllMethodExecutionException(
            ExtensionContext context, Throwable throwable) throws Throwable {
        if (!(throwable instanceof TestAbortedException)) {
            throw throwable;
        }
        context.getStore(NAMESPACE).put(TestAbortedException.class, throwable);
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        TestAbortedException cause = context.getStore(NAMESPACE)
                .get(TestAbortedException.class, TestAbortedException.class);
        if (cause != null) {
            throw cause;
        }
    }
}
