package dev.granary.plans;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.granary.gpu.DriverProcess;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.testing.ChildJvm;
import dev.granary.testing.TestRuns;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Random plans on PoCL against the scalar reference.
 *
 * <p>PoCL 3.1 computes wrong results for one of some 1,500 plans, or its compile ends the process
 * or never ends. Such a plan is a fault of PoCL's optimizer if its results are right without
 * optimization, and Oclgrind finds nothing in it.
 */
@NeedsPocl
class RandomPlansTest {
    private static final int PROCESS_RUNS = 100;

    /** Time limits of a process, some ten times what it takes on a machine without other load. */
    private static final int START_SECONDS = 60;

    private static final int PLAN_SECONDS = 3;

    /** Faults of the driver in more than one of this many plans are a fault of the plans. */
    private static final int LEAST_PLANS_FOR_A_FAULT = 200;

    @TempDir
    private Path directory;

    @Test
    @DisplayName("plans drawn once compute what their nests say, and change nothing else")
    void sample() throws Exception {
        try (PlanHarness harness = new PlanHarness()) {
            harness.check(RandomPlans.fixed(6));
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("thousands of random plans compute what their nests say, and change nothing"
            + " else, but for faults of PoCL's optimizer in at most one of 200")
    void thousands() throws Exception {
        List<String> faults = new ArrayList<>();
        int[] numbers = TestRuns.numbers(500).toArray();
        int end = numbers[numbers.length - 1] + 1;
        for (int first = numbers[0]; first < end; first += PROCESS_RUNS) {
            check(first, Math.min(end, first + PROCESS_RUNS), faults);
        }
        faults.forEach(System.out::println);
        assertTrue(faults.size() <= 1 + numbers.length / LEAST_PLANS_FOR_A_FAULT, faults::toString);
    }

    /** Checks plans, and adds those that the driver compiles wrongly. */
    private void check(int first, int end, List<String> faults) throws Exception {
        String outcome = run(first, end, Map.of());
        if (outcome.isEmpty()) {
            return;
        }
        if (end - first == 1) {
            faults.add(faultOfDriver(first, outcome));
            return;
        }
        int before = faults.size();
        int middle = (first + end) / 2;
        check(first, middle, faults);
        check(middle, end, faults);
        assertTrue(
                faults.size() > before,
                () -> "plans " + first + " to " + (end - 1) + " are wrong together only: "
                        + outcome);
    }

    /** Returns the outcome of a plan that only PoCL's optimizer makes wrong; fails for others. */
    private String faultOfDriver(int number, String outcome) throws Exception {
        KernelPlan plan = RandomPlans.ofSeed(number);
        Map<String, String> plain = Map.of("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable");
        if (!run(number, number + 1, plain).isEmpty()) {
            fail(outcome);
        }
        if (Oclgrind.isInstalled()) {
            assertEquals("", Oclgrind.report(directory, plan, plan.source()), plan::source);
        }
        return "PoCL compiles " + plan.name() + " wrongly, and rightly without optimization: "
                + outcome.lines().findFirst().orElse("");
    }

    /** Returns the first difference, or the end of the process; empty if all plans are right. */
    private String run(int first, int end, Map<String, String> variables) throws Exception {
        ChildJvm.Recording process = DriverProcess.of(RandomPlansProcess.class, directory)
                .flags("-Dgranary.seed=" + TestSeed.VALUE)
                .variables(variables)
                .record(String.valueOf(first), String.valueOf(end));
        long limit = START_SECONDS + (long) PLAN_SECONDS * (end - first);
        boolean hasEnded = process.process().waitFor(limit, TimeUnit.SECONDS);
        process.process().destroyForcibly();
        ChildJvm.Result result = process.end();
        boolean isRight = result.exitCode() == 0
                && result.out().lines().anyMatch(RandomPlansProcess.RIGHT::equals);
        String difference = result.out()
                .lines()
                .filter(line -> !line.startsWith("granary.seed="))
                .collect(Collectors.joining("\n"));
        String outcome =
                hasEnded ? "exit code " + result.exitCode() : "no end within " + limit + " s";
        return isRight ? "" : outcome + ", " + difference;
    }
}
