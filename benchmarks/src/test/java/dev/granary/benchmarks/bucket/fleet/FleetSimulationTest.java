package dev.granary.benchmarks.bucket.fleet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.benchmarks.bucket.workload.Sample;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.SplittableRandom;

/** Tests of the simulated fleet of the bucket benchmark. */
class FleetSimulationTest {
    private static final long SEED = TestSeed.VALUE;

    @Test
    @DisplayName("O10 below the limit a node takes its stages one after the other, each in as many"
            + " steps as it needs")
    void unhindered() {
        FleetPlan plan = new FleetPlan(
                "p",
                List.of(
                        new FleetPlan.Stage(1, 1, seconds(0.5)),
                        new FleetPlan.Stage(10, 4, seconds(0.1))),
                0);
        FleetSimulation.Result result = simulate(plan, 3, RetryBehaviour.UNTIL_GRANTED);
        assertEquals(0.5 + 3 * 0.1, result.seconds(), 1e-6);
        assertEquals(result.seconds(), result.medianSeconds());
        assertEquals(33, result.requests());
        assertEquals(0, result.refusedPercent());
    }

    @Test
    @DisplayName(
            "O10 above the limit the time is at least that of the limit; retries until granted lose"
                    + " nothing, and three attempts lose most")
    void limited() {
        FleetPlan plan =
                new FleetPlan("p", List.of(new FleetPlan.Stage(100, 32, seconds(0.03))), 0);
        FleetSimulation.Result patient = simulate(plan, 500, RetryBehaviour.UNTIL_GRANTED);
        double least = (50_000.0 - TokenBucket.PER_SECOND) / TokenBucket.PER_SECOND;
        assertTrue(patient.seconds() >= least, patient::toString);
        assertEquals(0, patient.lostPercent());
        assertTrue(patient.refusedPercent() > 0, patient::toString);
        assertEquals(patient, simulate(plan, 500, RetryBehaviour.UNTIL_GRANTED));
        assertTrue(simulate(plan, 500, RetryBehaviour.THREE_ATTEMPTS).lostPercent() > 50);
    }

    @Test
    @DisplayName("O10 events come in the order of their times")
    void order() {
        SplittableRandom random = TestSeed.random("events");
        EventQueue events = new EventQueue();
        for (int i = 0; i < 5000; i++) {
            events.add(random.nextInt(1000), random.nextInt(1 << 24));
        }
        long last = -1;
        int count = 0;
        while (!events.isEmpty()) {
            long micros = EventQueue.micros(events.poll());
            assertTrue(micros >= last, () -> "seed " + SEED);
            last = micros;
            count++;
        }
        assertEquals(5000, count);
    }

    private static FleetSimulation.Result simulate(
            FleetPlan plan, int nodes, RetryBehaviour persistence) {
        return new FleetSimulation(plan, nodes, persistence, seconds(0.02), SEED).run(0);
    }

    private static Sample seconds(double seconds) {
        Sample sample = new Sample();
        sample.add(seconds);
        return sample;
    }
}
