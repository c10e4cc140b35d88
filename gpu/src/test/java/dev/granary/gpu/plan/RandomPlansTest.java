package dev.granary.gpu.plan;

import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.stream.IntStream;

/**
 * Random plans on PoCL against the scalar reference. {@code -Dgranary.plans.first=N} and
 * {@code -Dgranary.plans.runs=N} select plans of the seed.
 */
@NeedsPocl
class RandomPlansTest {
    private static final int BATCH = 20; // kernels of one program: compiling has a fixed cost
    private static final int FIRST = Integer.getInteger("granary.plans.first", 0);

    @Test
    @DisplayName("P6 random plans compute what their nests say, and change nothing else")
    void sample() throws Exception {
        run(25);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("P6 thousands of random plans compute what their nests say, and change nothing"
            + " else")
    void thousands() throws Exception {
        run(2_000);
    }

    private static void run(int usual) throws Exception {
        int end = FIRST + Integer.getInteger("granary.plans.runs", usual);
        for (int first = FIRST; first < end; first += BATCH) {
            List<KernelPlan> plans = IntStream.range(first, Math.min(end, first + BATCH))
                    .mapToObj(RandomPlansTest::plan)
                    .toList();
            try (PlanHarness harness = new PlanHarness(TestSeed.random("values"))) {
                harness.check(plans);
            }
        }
    }

    /** Returns a plan whose number is in the name of its kernel. */
    private static KernelPlan plan(int number) {
        return new PlanGenerator(TestSeed.random("plan " + number), "plan" + number).plan();
    }
}
