package dev.granary.demo;

import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.stream.Stream;

/**
 * The result of one process of the demo.
 *
 * @param role {@code ci}, {@code node} or {@code laptop}
 * @param device the device it used
 * @param isChecked whether results were compared with references; not on a simulated device
 * @param kernels one result for each kernel without a tuning
 * @param tuning the result of the tuned kernel; null on a simulated device
 * @param memory the number of kernels that a second lookup found in memory
 * @param constants the result of the constant tensors
 * @param startMillis the time from the start of the JVM to the first lookup, in ms, including
 *     opening driver and bucket
 * @param millis the time of all lookups and first launches, in ms, without those of the tuning
 */
public record DemoRoleResult(
        String role,
        String device,
        boolean isChecked,
        List<KernelResult> kernels,
        @Nullable TuningResult tuning,
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
            String problem) {
        /** Returns this result with a longer time. */
        KernelResult later(double millis) {
            return new KernelResult(name, source, bytes, readyMillis + millis, isRight, problem);
        }
    }

    /**
     * The result of a kernel whose plan is tuned.
     *
     * @param kernel the kernel; its time includes the tuning, or the lookup of its outcome
     * @param planSource the source of the plan: {@code compiled} if this process has tuned, else as
     *     for kernels
     * @param tried the number of plans that this process tried
     * @param points the number of plans of the space
     * @param speedup the time of the naive plan divided by that of this one; 0 if it failed
     */
    public record TuningResult(
            KernelResult kernel, String planSource, int tried, int points, double speedup) {}

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

    /** Returns the results of all kernels; the tuned one is the last. */
    public List<KernelResult> all() {
        return tuning == null
                ? kernels
                : Stream.concat(kernels.stream(), Stream.of(tuning.kernel())).toList();
    }

    /** Returns the number of plans that this process tried in a tuning. */
    public int tried() {
        return tuning == null ? 0 : tuning.tried();
    }

    /** Returns the source of the tuned plan; an empty text if there is none. */
    public String planSource() {
        return tuning == null ? "" : tuning.planSource();
    }

    /** Returns the number of kernels from a source. */
    public long count(String source) {
        return all().stream().filter(kernel -> kernel.source().equals(source)).count();
    }

    /** Returns the number of kernels whose results agree with the reference; 0 if unchecked. */
    public long verified() {
        return isChecked ? right() : 0;
    }

    private long right() {
        return all().stream().filter(KernelResult::isRight).count();
    }

    /**
     * Returns true if all kernels were obtained, no result was wrong, and constants were made once.
     */
    public boolean isRight() {
        return right() == all().size() && constants.isSuccess();
    }

    /** Returns true if nothing was compiled or tuned, and all results were right. */
    public boolean isServedWithoutCompiling() {
        return count("compiled") == 0 && count("failed") == 0 && tried() == 0 && isRight();
    }
}
