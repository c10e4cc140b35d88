package dev.granary.plans;

import dev.granary.testing.TestSeed;

import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/** Random plans, whose numbers are in the names of their kernels. */
final class RandomPlans {
    private RandomPlans() {}

    /** Returns a plan of the seed. */
    static KernelPlan ofSeed(int number) {
        return new PlanGenerator(TestSeed.random("plan " + number), "plan" + number).plan();
    }

    /** Returns plans that are the same in each run. */
    static List<KernelPlan> fixed(int count) {
        return IntStream.range(0, count)
                .mapToObj(number ->
                        new PlanGenerator(new SplittableRandom(number), "fixed" + number).plan())
                .toList();
    }
}
