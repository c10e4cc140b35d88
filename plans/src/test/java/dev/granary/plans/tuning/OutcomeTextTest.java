package dev.granary.plans.tuning;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;
import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.cache.fuzz.Fuzzer;
import dev.granary.plans.tuning.PlanSpace.PlanParameters;
import dev.granary.plans.tuning.PlanTuner.TrialCounts;
import dev.granary.plans.tuning.PlanTuner.Verdict;
import dev.granary.plans.tuning.TunedPlan.TuningDescriptor;
import dev.granary.plans.tuning.TunedPlan.TuningOutcome;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** Tests of stored outcomes: their bytes, their plans, and their order. */
class OutcomeTextTest {
    private static final Target TARGET = new Target(Backend.OPENCL, "pocl", "device", "version");
    private static final PlanSpace SPACE = TuningProducts.tiles(8);
    private static final TuningDescriptor DESCRIPTOR = TuningDescriptor.of(SPACE, TARGET);

    private static TuningOutcome outcome(PlanParameters values, long ratio, long spread) {
        return new TuningOutcome(
                values,
                Sha256.of(SPACE.plan(values).source().getBytes(UTF_8)),
                Duration.ofNanos(120),
                Duration.ofNanos(360),
                ratio,
                spread,
                9,
                new TrialCounts(Map.of(
                        Verdict.MEASURED, 5,
                        Verdict.SLOW, 4,
                        Verdict.UNSUITABLE, 3,
                        Verdict.REFUSED, 2,
                        Verdict.WRONG, 1)),
                SPACE.size(),
                -7,
                Duration.ofSeconds(3));
    }

    private static TuningOutcome outcome() {
        return outcome(SPACE.point(3), TuningOutcome.ONE / 3, 1000);
    }

    private static void refused(String message, String text) {
        RestoreException e = assertThrows(
                RestoreException.class,
                () -> TunedPlan.restore(DESCRIPTOR, KernelBinaries.of(text.getBytes(UTF_8))));
        assertTrue(String.valueOf(e.getMessage()).contains(message), e.getMessage());
    }

    @Test
    @DisplayName("Fuzz: a stored outcome is restored with its plan, or refused")
    void fuzz() {
        byte[] sound = OutcomeText.encode(outcome());
        Fuzzer.run(FuzzTarget.of(
                        "outcome of a tuning",
                        List.of(sound, "\n".getBytes(UTF_8), new byte[0]),
                        bytes -> TunedPlan.restore(DESCRIPTOR, KernelBinaries.of(bytes)))
                .throwing(RestoreException.class));
    }

    @Test
    @DisplayName("an outcome is stored as text and restored with its plan")
    void roundTrip() throws Exception {
        TunedPlan tuned = TunedPlan.of(DESCRIPTOR, outcome());
        assertEquals(Primitive.Origin.COMPILED, tuned.origin());
        assertEquals(Duration.ofSeconds(3), tuned.compileTime());
        KernelBinaries stored = tuned.getBinaries(BinaryKind.KERNEL);
        TunedPlan restored = TunedPlan.restore(DESCRIPTOR, stored);
        assertEquals(outcome(), restored.outcome());
        assertEquals(SPACE.plan(SPACE.point(3)), restored.plan());
        assertEquals(Primitive.Origin.RESTORED, restored.origin());
        assertEquals(Duration.ZERO, restored.compileTime());
        assertEquals(stored, restored.getBinaries(BinaryKind.KERNEL));
        assertTrue(tuned.getBinaries(BinaryKind.PRIMITIVE).isEmpty());
        assertTrue(new String(stored.toByteArrays().getFirst(), UTF_8)
                .startsWith("granary tuning 1\nparameter ti=4\nparameter tj=8\nparameter"
                        + " cached=false\nsource "));
    }

    @Test
    @DisplayName("an outcome whose plan is not in the space, or has another source, is refused")
    void foreign() {
        String text = new String(OutcomeText.encode(outcome()), UTF_8);
        refused("are not in the space", text.replace("ti=4", "ti=5"));
        refused("has another source", text.replace("ti=4", "ti=8"));
        refused("are not in the space", text.replace("parameter ti=4\n", ""));
        refused("or two", text.replace("parameter ti=4\n", "parameter ti=4\nparameter ti=4\n"));
        refused("the first line", text.replace("tuning 1", "tuning 2"));
        refused("the first line", "");
        refused("'nanos' is missing", text.replace("\nnanos", "\nnano"));
        refused("more than an outcome", text + "more 1\n");
        refused("more than an outcome", text.replace("rounds 9", "rounds 09"));
        refused("impossible", text.replace("rounds 9", "rounds 0"));
        refused("impossible", text.replace("\nnanos 120", "\nnanos -120"));
        refused("is negative", text.replace("wrong 1", "wrong -1"));
        refused("at most", "x".repeat((1 << 20) + 1));
        assertThrows(
                RestoreException.class,
                () -> TunedPlan.restore(DESCRIPTOR, KernelBinaries.of(new byte[1], new byte[1])));
    }

    @Test
    @DisplayName("changed bytes of an outcome give an outcome of the space, or are refused")
    void mutations() {
        SplittableRandom random = TestSeed.random("outcomes");
        byte[] sound = OutcomeText.encode(outcome());
        for (int run = 0; run < 3_000; run++) {
            byte[] changed = sound.clone();
            for (int i = random.nextInt(1, 4); i > 0; i--) {
                changed[random.nextInt(changed.length)] = (byte) random.nextInt(256);
            }
            try {
                TunedPlan plan = TunedPlan.restore(DESCRIPTOR, KernelBinaries.of(changed));
                assertArrayEquals(changed, OutcomeText.encode(plan.outcome()));
                assertTrue(SPACE.contains(plan.outcome().parameters()));
            } catch (RestoreException _) {
                // refused
            }
        }
    }

    @Test
    @DisplayName("an outcome is better only if the difference exceeds both spreads")
    void order() {
        TuningOutcome first = outcome(SPACE.point(0), 1000, 100);
        assertTrue(outcome(SPACE.point(1), 899, 50).isBetterThan(first));
        assertFalse(outcome(SPACE.point(1), 900, 50).isBetterThan(first));
        assertFalse(outcome(SPACE.point(1), 899, 101).isBetterThan(first));
        assertTrue(outcome(SPACE.point(1), 898, 101).isBetterThan(first));
        assertFalse(first.isBetterThan(first));
        assertFalse(outcome(SPACE.point(1), 1500, 0).isBetterThan(first));
    }
}
