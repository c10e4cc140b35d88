package dev.granary.it;

import dev.granary.gpu.opencl.OpenCl;

import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Condition that disables tests, visibly, if there is no OpenCL device. */
final class WithDevice implements ExecutionCondition {
    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        return OpenCl.devices().isEmpty()
                ? ConditionEvaluationResult.disabled(
                        "no OpenCL device: apt-get install pocl-opencl-icd")
                : ConditionEvaluationResult.enabled(
                        "OpenCL: " + OpenCl.devices().getFirst());
    }
}
