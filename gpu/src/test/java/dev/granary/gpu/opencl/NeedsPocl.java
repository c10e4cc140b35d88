package dev.granary.gpu.opencl;

import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Condition for tests that run on PoCL's device. Without it they are skipped, and the reason is
 * printed.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(NeedsPocl.Condition.class)
public @interface NeedsPocl {
    /** Evaluates whether there is such a device. */
    final class Condition implements ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            String missing =
                    switch (OpenCl.probe()) {
                        case OpenCl.Probe.Missing none -> none.cause();
                        case OpenCl.Probe.Found found ->
                            found.devices().stream().anyMatch(PoclDevice::isPocl)
                                    ? ""
                                    : "there is no PoCL device, on Debian: apt-get install"
                                            + " pocl-opencl-icd; found: "
                                            + found.devices();
                    };
            if (missing.isEmpty()) {
                return ConditionEvaluationResult.enabled("PoCL is installed");
            }
            System.out.println("SKIPPED " + context.getDisplayName() + ": " + missing);
            return ConditionEvaluationResult.disabled(missing);
        }
    }
}
