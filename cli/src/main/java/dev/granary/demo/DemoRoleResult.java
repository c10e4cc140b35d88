package dev.granary.demo;

import java.util.List;

/**
 * The result of one process of the demo.
 *
 * @param role {@code ci}, {@code node} or {@code laptop}
 * @param device the device it used
 * @param isChecked whether results were compared with references; not on a simulated device
 * @param kernels one result for each kernel
 * @param memory the number of kernels that a second lookup found in memory
 * @param constants the result of the constant tensors
 * @param startMillis the time from the start of the JVM to the first lookup, in ms, including
 *     opening driver and bucket
 * @param millis the time of all lookups and first launches, in ms
 */
public record DemoRoleResult(
        String role,
        String device,
        boolean isChecked,
        List<KernelResult> kernels,
        int memory,
        ConstantsResult constants,
        double startMillis,
        double millis) {
    /** Copies the list. */
    public DemoRoleResult {
        kernels = List.copyOf(kernels);
    }

    /**
     * The result of one kernel.
     *
     * @param name its name
     * @param source {@code compiled}, {@code bucket}, {@code local} or {@code failed}
     * @param bytes the size of its binary
     * @param readyMillis the time of lookup and first launches, in ms
     * @param isRight whether it was obtained, and all results agree with the reference if they were
     *     checked
     * @param problem the failure, or empty text
     */
    public record KernelResult(
            String name,
            String source,
            long bytes,
            double readyMillis,
            boolean isRight,
            String problem) {}

    /**
     * The result of the constant tensors: weights that two primitives share.
     *
     * @param made the number of constants that were made
     * @param reused the number of uses of an existing constant
     * @param bytes the device memory that they take, in bytes
     * @param isRight whether all results computed with them agree with the reference
     * @param problem the failure, or empty text
     */
    public record ConstantsResult(
            long made, long reused, long bytes, boolean isRight, String problem) {
        /** The result of a machine that makes none: its backend has no constant tensors yet. */
        static final ConstantsResult NONE = new ConstantsResult(0, 0, 0, true, "");

        /** Returns true if they were made once, used again, and all results are right. */
        public boolean isSuccess() {
            return equals(NONE) || (made == 1 && reused > 0 && isRight);
        }
    }

    /** Returns the number of kernels from a source. */
    public long count(String source) {
        return kernels.stream().filter(kernel -> kernel.source().equals(source)).count();
    }

    /** Returns the number of kernels whose results agree with the reference; 0 if unchecked. */
    public long verified() {
        return isChecked ? right() : 0;
    }

    private long right() {
        return kernels.stream().filter(KernelResult::isRight).count();
    }

    /**
     * Returns true if all kernels were obtained, no result was wrong, and constants were made once.
     */
    public boolean isRight() {
        return right() == kernels.size() && constants.isSuccess();
    }

    /** Returns true if nothing was compiled and all results were right. */
    public boolean isServedWithoutCompiling() {
        return count("compiled") == 0 && count("failed") == 0 && isRight();
    }
}
