package dev.granary.plans.tuning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.CompileException;
import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.gpu.DeviceLimits;
import dev.granary.gpu.device.DriverTraits;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.plans.ArrayCache;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.KernelArray.ArrayLayout;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.tuning.PlanSpace.PlanParameters;
import dev.granary.plans.tuning.PlanTuner.TrialCounts;
import dev.granary.plans.tuning.PlanTuner.TuningSettings;
import dev.granary.plans.tuning.PlanTuner.TuningTrial;
import dev.granary.plans.tuning.PlanTuner.Verdict;
import dev.granary.plans.tuning.TunedPlan.TuningDescriptor;
import dev.granary.plans.tuning.TunedPlan.TuningOutcome;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/** Tests of the tuner on PoCL. */
@NeedsPocl
class PlanTunerTest {
    private static final Duration LONG = Duration.ofHours(1);
    private static final int SIZE = 96;

    private final OpenClEngine engine = OpenClEngine.open(OpenCl.devices().stream()
            .filter(device -> device.target().vendor().equals(DriverTraits.POCL))
            .findFirst()
            .orElseThrow());
    private final Map<String, TuningTrial> trials = new TreeMap<>();
    private final List<String> order = new ArrayList<>();

    @AfterEach
    void close() {
        engine.close();
    }

    private void record(PlanParameters values, TuningTrial trial) {
        assertNull(trials.put(values.toString(), trial), "tried once");
        order.add(values.toString());
    }

    private TunedPlan tune(PlanSpace space, TuningSettings settings) throws CompileException {
        return tune(space, settings, engine.device().limits());
    }

    private TunedPlan tune(PlanSpace space, TuningSettings settings, DeviceLimits limits)
            throws CompileException {
        trials.clear();
        order.clear();
        return PlanTuner.of(engine, limits, settings.rounds(3))
                .listener((values, trial, _) -> record(values, trial))
                .create(TuningDescriptor.of(space, engine.target()));
    }

    private TuningTrial trial(String values) {
        return Objects.requireNonNull(trials.get(values), values);
    }

    private static int count(TunedPlan tuned, Verdict verdict) {
        return tuned.outcome().counts().byVerdict().getOrDefault(verdict, 0);
    }

    private static TuningSettings settings() {
        return TuningSettings.of(LONG, TestSeed.VALUE);
    }

    /** A space with one parameter, whose values select the plans. */
    private static PlanSpace.Builder kinds(int size, Object... kinds) {
        return PlanSpace.of(TuningProducts.nest(size)).parameter("kind", kinds);
    }

    @Test
    @DisplayName("all plans of a small space are tried once, in the order of the seed, and the"
            + " best is one of them")
    void whole() throws Exception {
        PlanSpace space = TuningProducts.few(17);
        TunedPlan tuned = tune(space, settings());
        assertEquals(space.size(), order.size());
        TuningOutcome outcome = tuned.outcome();
        assertEquals(space.size(), outcome.counts().tried());
        assertEquals(space.size(), count(tuned, Verdict.MEASURED) + count(tuned, Verdict.SLOW));
        assertEquals(Verdict.MEASURED, trial(outcome.parameters().toString()).verdict());
        assertEquals(space.plan(outcome.parameters()), tuned.plan());
        assertEquals(space.size(), outcome.points());
        assertTrue(outcome.ratioPpb() > 0 && outcome.spreadPpb() >= 0);
    }

    @Test
    @DisplayName("the seed alone decides the order of the plans")
    void order() throws Exception {
        PlanSpace space = TuningProducts.few(17);
        List<String> first = firstThree(space, 1);
        assertEquals(first, firstThree(space, 1));
        assertNotEquals(first, firstThree(space, 2));
    }

    private List<String> firstThree(PlanSpace space, long seed) throws CompileException {
        TestTicker clock = new TestTicker();
        List<String> tried = new ArrayList<>();
        new PlanTuner(
                        engine,
                        engine.device().limits(),
                        new TuningSettings(Duration.ofSeconds(3), seed, 1, 100),
                        (values, _, _) -> {
                            tried.add(values.toString());
                            clock.pass(Duration.ofSeconds(1));
                        },
                        PlanTuner.UNGUARDED,
                        clock)
                .create(TuningDescriptor.of(space, engine.target()));
        return tried;
    }

    @ParameterizedTest
    @CsvSource({"2, 3, small", "3, 2, large"})
    @DisplayName("the fastest plan is chosen, with its time and its ratio to the naive plan")
    void fastest(int small, int large, String fastest) throws Exception {
        TestTicker clock = new TestTicker();
        PlanSpace space = kinds(17, "small", "large")
                .plans(values -> values.text("kind").equals("small")
                        ? TuningProducts.tiled(17, 2, 2)
                        : TuningProducts.tiled(17, 4, 4));
        DeviceLimits limits = engine.device().limits();
        Map<Id, Duration> times = Map.of(
                id(space.naive(), limits), Duration.ofMillis(5),
                id(TuningProducts.tiled(17, 2, 2), limits), Duration.ofMillis(small),
                id(TuningProducts.tiled(17, 4, 4), limits), Duration.ofMillis(large));
        TuningOutcome outcome = new PlanTuner(
                        new ClockedEngine(engine, clock, times),
                        limits,
                        settings(),
                        (_, _, _) -> {},
                        PlanTuner.UNGUARDED,
                        clock)
                .create(TuningDescriptor.of(space, engine.target()))
                .outcome();
        assertEquals(fastest, outcome.parameters().text("kind"));
        assertEquals(Duration.ofMillis(2), outcome.time());
        assertEquals(400_000_000, outcome.ratioPpb());
        assertEquals(0, outcome.spreadPpb());
    }

    private Id id(KernelPlan plan, DeviceLimits limits) {
        return plan.descriptor(engine.target(), limits).getId();
    }

    @Test
    @DisplayName("a plan with wrong results, one beyond the device, one that the driver refuses"
            + " and one that is none are counted, and never chosen")
    void counts() throws Exception {
        DeviceLimits limits = engine.device().limits();
        // work-groups of any size pass the check, so that the driver refuses them
        DeviceLimits beyond = new DeviceLimits(
                limits.localBytes(),
                limits.constantBytes(),
                Long.MAX_VALUE,
                List.of(Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE),
                limits.computeUnits());
        PlanSpace space = kinds(SIZE, "right", "wrong", "items", "memory", "none")
                .plans(PlanTunerTest::ofKind);
        TunedPlan tuned = tune(space, settings(), beyond);
        assertEquals("right", tuned.outcome().parameters().text("kind"));
        assertEquals(Verdict.MEASURED, trial("kind=right").verdict());
        TuningTrial wrong = trial("kind=wrong");
        assertEquals(Verdict.WRONG, wrong.verdict());
        assertTrue(wrong.reason().contains(" of C is "), wrong::toString);
        assertEquals(
                new TuningTrial(Verdict.UNSUITABLE, Duration.ZERO, "there is none"),
                trial("kind=none"));
        assertEquals(Verdict.REFUSED, trial("kind=items").verdict());
        TuningTrial memory = trial("kind=memory");
        assertEquals(Verdict.UNSUITABLE, memory.verdict());
        assertTrue(memory.reason().contains("bytes of local memory"), memory::toString);
        assertEquals(
                new TrialCounts(Map.of(
                        Verdict.MEASURED, 1,
                        Verdict.UNSUITABLE, 2,
                        Verdict.REFUSED, 1,
                        Verdict.WRONG, 1)),
                tuned.outcome().counts());
    }

    private static KernelPlan ofKind(PlanParameters values) {
        return switch (values.text("kind")) {
            case "right" -> TuningProducts.tiled(SIZE, 4, 4);
            case "wrong" -> TuningProducts.wrong(SIZE);
            case "items" -> TuningProducts.tiled(SIZE, SIZE, SIZE);
            case "memory" ->
                TuningProducts.tiled(SIZE, 4, 4)
                        .cache(ArrayCache.of(KernelArray.input("A", ElementType.FLOAT, SIZE, SIZE))
                                .index(TuningProducts.I.inner())
                                .location(MemoryLocation.LOCAL)
                                // a gap of 64 MiB between the rows
                                .layout(ArrayLayout.coefficients(1 << 24, 1))
                                .build());
            default -> throw new IllegalArgumentException("there is none");
        };
    }

    @Test
    @DisplayName("if no plan has right results, the tuning fails and names the first cause")
    void noneRight() {
        PlanSpace space = kinds(SIZE, "wrong").plans(_ -> TuningProducts.wrong(SIZE));
        CompileException e = assertThrows(CompileException.class, () -> tune(space, settings()));
        assertTrue(
                String.valueOf(e.getMessage()).contains("0 refused, 1 wrong; the first: element"),
                e.getMessage());
    }

    @Test
    @DisplayName("after its budget, a tuning tries no further plan")
    void budget() throws Exception {
        TestTicker clock = new TestTicker();
        PlanSpace space = TuningProducts.few(17);
        TunedPlan tuned = limited(space, clock, Duration.ofSeconds(30), 1000);
        // each plan takes 10 s
        assertEquals(3, tuned.outcome().counts().tried());
        assertEquals(Duration.ofSeconds(30), tuned.outcome().elapsed());
    }

    @Test
    @DisplayName("after so many plans without an improvement, a tuning stops")
    void patience() throws Exception {
        PlanSpace space = TuningProducts.tiles(8);
        TunedPlan tuned = limited(space, new TestTicker(), LONG, 1);
        // the first plan is an improvement, the second one ends the patience unless it is one
        assertTrue(tuned.outcome().counts().tried() < space.size());
        assertFalse(tuned.outcome().counts().tried() < 2);
    }

    private TunedPlan limited(PlanSpace space, TestTicker clock, Duration budget, int patience)
            throws CompileException {
        return new PlanTuner(
                        engine,
                        engine.device().limits(),
                        new TuningSettings(budget, TestSeed.VALUE, 1, patience),
                        (_, _, _) -> clock.pass(Duration.ofSeconds(10)),
                        PlanTuner.UNGUARDED,
                        clock)
                .create(TuningDescriptor.of(space, engine.target()));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the naive plan suits nests of each number of dimensions and element type")
    void naive() throws Exception {
        LoopIndex i = LoopIndex.of("i");
        LoopIndex j = LoopIndex.of("j");
        LoopIndex k = LoopIndex.of("k");
        LoopIndex l = LoopIndex.of("l");
        for (ElementType type : ElementType.values()) {
            KernelArray x = KernelArray.input("X", type, 3, 5, 4, 2);
            KernelArray y = KernelArray.output("Y", type, 3, 5, 4, 2);
            KernelArray sum = KernelArray.inputOutput("S", type, 1);
            LoopNest copy = LoopNest.named("copy")
                    .loop(i, 3)
                    .loop(j, 5)
                    .loop(k, 4)
                    .loop(l, 2)
                    .logic(y.at(i, j, k, l).set(x.at(i, j, k, l)));
            LoopNest total = LoopNest.named("total")
                    .loop(i, 3)
                    .loop(j, 5)
                    .loop(k, 4)
                    .loop(l, 2)
                    .logic(sum.at(AffineIndex.of(0)).add(x.at(i, j, k, l)));
            for (LoopNest nest : List.of(copy, total)) {
                PlanSpace space = PlanSpace.of(nest)
                        .parameter("one", 1)
                        .plans(_ -> KernelPlan.of(nest.schedule()));
                assertEquals(1, count(tune(space, settings()), Verdict.MEASURED));
            }
        }
        assertEquals(64, TuningProducts.tiles(96).naive().report().groupItems());
    }

    @Test
    @DisplayName("a tuner refuses the key of another target")
    void otherTarget() {
        Target other = new Target(Backend.OPENCL, "pocl", "device", "another");
        PlanTuner tuner = PlanTuner.of(engine, engine.device().limits(), settings());
        assertThrows(
                IllegalArgumentException.class,
                () -> tuner.create(TuningDescriptor.of(TuningProducts.tiles(8), other)));
    }
}
