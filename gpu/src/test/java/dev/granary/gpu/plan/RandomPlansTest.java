package dev.granary.gpu.plan;

import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.SplittableRandom;

/**
 * Random plans on PoCL against the scalar reference. {@code -Dgranary.plans.first=N} and
 * {@code -Dgranary.plans.runs=N} select plans of the seed.
 */
@NeedsPocl
class RandomPlansTest {
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
        int runs = Integer.getInteger("granary.plans.runs", usual);
        for (int number = FIRST; number < FIRST + runs; number++) {
            SplittableRandom random = TestSeed.random("plan " + number);
            try (PlanHarness harness = new PlanHarness(random)) {
                KernelPlan plan = new PlanGenerator(random).plan();
                harness.check(plan);
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError(
                        "-Dgranary.plans.first=" + number + " -Dgranary.plans.runs=1: " + e, e);
            }
        }
    }
}
