package dev.granary.demo;

import java.util.List;

/**
 * What one process of the demo did.
 *
 * @param role {@code ci}, {@code node} or {@code laptop}
 * @param device the device it used
 * @param kernels one result each
 * @param memory how many of them a second look-up found in memory
 * @param constants what became of the constant tensors
 * @param startMillis from the start of the JVM to the first look-up, opening the driver and the bucket's client included
 * @param millis all look-ups and first launches together
 */
public record DemoRoleResult(
        String role, String device, List<KernelResult> kernels, int memory, ConstantsResult constants, double startMillis, double millis) {
    /** Copies the list. */
    public DemoRoleResult {
        kernels = List.copyOf(kernels);
    }

    /**
     * One kernel.
     *
     * @param name its name
     * @param source {@code compiled}, {@code bucket}, {@code local} or {@code failed}
     * @param bytes the size of its binary
     * @param readyMillis look-up and first launches: until the first result is there
     * @param isRight whether all results agree with the reference
     * @param problem what is wrong, else empty
     */
    public record KernelResult(String name, String source, long bytes, double readyMillis, boolean isRight, String problem) {}

    /**
     * The constant tensors: weights that two primitives share.
     *
     * @param made how many were made
     * @param reused how often one that was there was used
     * @param bytes how many bytes of the device they take
     * @param isRight whether all results computed with them agree with the reference
     * @param problem what is wrong, else empty
     */
    public record ConstantsResult(long made, long reused, long bytes, boolean isRight, String problem) {
        /** True if they were made once, used again, and all results are right. */
        public boolean isSuccess() {
            return made == 1 && reused > 0 && isRight;
        }
    }

    /** How many kernels came from there. */
    public long count(String source) {
        return kernels.stream().filter(kernel -> kernel.source().equals(source)).count();
    }

    /** How many kernels computed what the reference says. */
    public long verified() {
        return kernels.stream().filter(KernelResult::isRight).count();
    }

    /** True if every result was right, and constants were made once. */
    public boolean isRight() {
        return verified() == kernels.size() && constants.isSuccess();
    }

    /** True if nothing was compiled here and every result was right. */
    public boolean isServedWithoutCompiling() {
        return count("compiled") == 0 && count("failed") == 0 && isRight();
    }
}
