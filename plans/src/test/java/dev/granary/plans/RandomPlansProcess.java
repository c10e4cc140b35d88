package dev.granary.plans;

import java.util.List;
import java.util.stream.IntStream;

/**
 * Main program of a process that checks consecutive plans of the seed on PoCL, as one program for
 * each {@value #BATCH} of them, since a compile has a fixed cost. It prints {@link #RIGHT}, or the
 * first difference.
 */
public final class RandomPlansProcess {
    /** The line that is printed if all plans are right. */
    static final String RIGHT = "every plan is right";

    private static final int BATCH = 20;

    private RandomPlansProcess() {}

    /** Checks the plans from the first argument to the second one, which is excluded. */
    public static void main(String[] arguments) throws Exception {
        int end = Integer.parseInt(arguments[1]);
        for (int first = Integer.parseInt(arguments[0]); first < end; first += BATCH) {
            List<KernelPlan> plans = IntStream.range(first, Math.min(end, first + BATCH))
                    .mapToObj(RandomPlans::ofSeed)
                    .toList();
            try (PlanHarness harness = new PlanHarness()) {
                harness.check(plans);
            } catch (AssertionError e) {
                System.out.println(e.getMessage());
                return;
            }
        }
        System.out.println(RIGHT);
    }
}
