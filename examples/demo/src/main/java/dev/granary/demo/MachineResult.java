package dev.granary.demo;

import java.util.List;

/**
 * The result of one machine of the demo, as its process prints it.
 *
 * @param summary its counts, as in the JSON of the demo
 * @param programs one result for each program; that of the tuned plan is the last
 * @param device the device it used
 * @param checked whether results were compared with expected ones; not on a simulated device
 * @param speedup the time of the naive plan divided by that of the tuned one; 0 without a tuning
 * @param constantProblem the failure with constant weights; empty if there is none
 */
record MachineResult(
        Summary summary,
        List<ProgramResult> programs,
        String device,
        boolean checked,
        double speedup,
        String constantProblem) {
    /**
     * The result of one program: where it came from, the time of lookup and first launches, and the
     * failure or first wrong result, which is empty if there is none.
     */
    record ProgramResult(String name, String source, long bytes, double millis, String problem) {
        boolean isRight() {
            return problem.isEmpty();
        }
    }

    /** The counts of a machine; {@code planFrom} is empty if nothing was tuned. */
    record Summary(
            String role,
            long compiled,
            long bucket,
            long local,
            long memory,
            String planFrom,
            int plansTried,
            long constantsMade,
            long constantsReused,
            boolean constantsRight,
            long verified,
            double millis) {}

    boolean isTuned() {
        return !summary.planFrom().isEmpty();
    }

    /** Returns true if there was no failure and no wrong result, and constants were made once. */
    boolean isRight() {
        return programs.stream().allMatch(ProgramResult::isRight)
                && summary.constantsRight()
                && summary.constantsMade() <= 1
                && summary.constantsReused() >= summary.constantsMade();
    }

    /** Returns true if nothing was compiled or tuned, and all results are right. */
    boolean isServed() {
        return summary.compiled() == 0 && summary.plansTried() == 0 && isRight();
    }
}
