package dev.granary.demo.kernels;

/** Whether a device computed what the reference says. */
public sealed interface KernelCheckResult {
    /** Every result agrees with the reference within its tolerance. */
    record Right() implements KernelCheckResult {}

    /**
     * Some result does not.
     *
     * @param what the first difference: where, what was expected, what came
     */
    record Wrong(String what) implements KernelCheckResult {}
}
