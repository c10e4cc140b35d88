package dev.granary.gpu.levelzero;

import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Condition for tests that run on the {@link TestDriver}. Without the loader of Level Zero or a C
 * compiler they are skipped, and the reason is printed.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(NeedsTestDriver.Condition.class)
public @interface NeedsTestDriver {
    /** Evaluates whether there is such a driver. */
    final class Condition implements ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            return TestDriver.missing()
                    .map(reason -> {
                        System.out.println("SKIPPED " + context.getDisplayName() + ": " + reason);
                        return ConditionEvaluationResult.disabled(reason);
                    })
                    .orElseGet(
                            () -> ConditionEvaluationResult.enabled("The test driver is loaded"));
        }
    }
}
