package dev.granary.demo.kernels;

/** The result of a comparison with the reference of a kernel. */
public sealed interface KernelCheckResult {
    /** Every result agrees with the reference within its tolerance. */
    record Right() implements KernelCheckResult {}

    /**
     * A result differs from the reference.
     *
     * @param difference the first difference: its position, the expected and the actual value
     */
    record Wrong(String difference) implements KernelCheckResult {}
}
