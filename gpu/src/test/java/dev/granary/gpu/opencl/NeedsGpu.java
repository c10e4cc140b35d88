package dev.granary.gpu.opencl;

import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.Optional;

/** Condition for tests that run on an OpenCL device of another driver than PoCL. */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(NeedsGpu.Condition.class)
@interface NeedsGpu {
    /** Evaluates whether there is such a device. */
    final class Condition implements ExecutionCondition {
        static Optional<OpenClDevice> device() {
            return OpenCl.probe() instanceof OpenCl.Probe.Found found
                    ? found.devices().stream()
                            .filter(device -> !PoclDevice.isPocl(device))
                            .findFirst()
                    : Optional.empty();
        }

        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            Optional<OpenClDevice> device = device();
            if (device.isPresent()) {
                System.out.println(
                        context.getDisplayName() + " runs on " + device.get().name());
                return ConditionEvaluationResult.enabled("there is a GPU");
            }
            String missing = "there is no OpenCL device but PoCL's";
            System.out.println("SKIPPED " + context.getDisplayName() + ": " + missing);
            return ConditionEvaluationResult.disabled(missing);
        }
    }
}
