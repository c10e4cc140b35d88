package dev.granary.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.Launch;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.function.Consumer;

/** Tests that a run detects each difference from the expected results, on the simplest kernel. */
@NeedsPocl
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ProgramRunTest {
    private static final int COUNT = 100;

    private final OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst());
    private LoadedKernels kernels;

    @BeforeAll
    void load() throws Exception {
        kernels = engine.load(engine.create(adding(_ -> {}).descriptor(engine.target(), "")));
    }

    @AfterAll
    void close() {
        kernels.close();
        engine.close();
    }

    private static Program adding(Consumer<ProgramRun> check) {
        Launch launch = new Launch("vector_add", Geometry.of(128).local(64));
        return Program.of("vector-add", "vector_add", "", check, launch);
    }

    /** Runs a check that launches nothing itself, and returns the difference. */
    private String compare(Consumer<ProgramRun> comparison) {
        return check(run -> {
            add(run, COUNT);
            comparison.accept(run);
        });
    }

    private String check(Consumer<ProgramRun> check) {
        return adding(check).check(engine, kernels, TestSeed.random("run"));
    }

    /** Adds ones, up to {@code count} of them. */
    private static DeviceBuffer add(ProgramRun run, int count) {
        DeviceBuffer ones = run.input(run.floats(COUNT, 1, Math.nextUp(1f)));
        DeviceBuffer sum = run.output(Float.BYTES * COUNT);
        run.launch("vector_add", ones, ones, sum, count);
        return sum;
    }

    @Test
    @DisplayName("An element that the kernel never writes is detected")
    void unwritten() {
        assertEquals(
                "float 99: expected 2.0, got NaN",
                check(run -> run.expect(add(run, COUNT - 1), 0, 0, _ -> 2)));
    }

    @Test
    @DisplayName("A buffer for results contains no integer that could pass for a small result")
    void poison() {
        assertEquals("byte 0 differs", compare(run -> run.expect(run.output(8), new int[2])));
    }

    @Test
    @DisplayName("A check that omits a declared launch, or makes another one, is rejected")
    void launches() {
        assertEquals(
                "Of the kernels [vector_add] only [] were launched",
                assertThrows(IllegalStateException.class, () -> check(_ -> {})).getMessage());
        assertEquals(
                "No launch of the kernel vector_subtract is declared",
                assertThrows(
                                IllegalStateException.class,
                                () -> check(run -> run.launch("vector_subtract")))
                        .getMessage());
    }

    @Test
    @DisplayName("Equal values and differences within the tolerance are right")
    void withinTolerance() {
        float[] values = {1, Math.nextUp(2f)};
        assertEquals("", compare(run -> {
            run.expect(run.input(values), 1e-6, 0, i -> i + 1);
            run.expect(run.input(new int[] {1, 2}), new int[] {1, 2});
        }));
    }

    @ParameterizedTest
    @ValueSource(
            floats = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, 0, -1.5f, 3})
    @DisplayName("Wrong floats are detected at the first and at the last position")
    void wrongFloat(float wrong) {
        for (int place : new int[] {0, 9}) {
            float[] values = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
            values[place] = wrong;
            assertEquals(
                    "float " + place + ": expected 1.0, got " + wrong,
                    compare(run -> run.expect(run.input(values), 1e-6, 1e-6, _ -> 1)));
        }
    }

    @Test
    @DisplayName("Values that are not finite agree with nothing, not even with themselves")
    void notFinite() {
        for (float strange : new float[] {Float.NaN, Float.POSITIVE_INFINITY}) {
            assertFalse(
                    compare(run -> run.expect(run.input(new float[] {strange}), 1, 1, _ -> strange))
                            .isEmpty());
        }
    }

    @Test
    @DisplayName("Without tolerance the smallest difference is wrong")
    void exact() {
        float[] values = {Math.nextDown(1f)};
        assertTrue(compare(run -> run.expect(run.input(values), 0, 0, _ -> 1))
                .startsWith("float 0: expected 1.0, got 0.99"));
    }

    @Test
    @DisplayName("The first difference is kept, whatever is compared after it")
    void firstStays() {
        assertEquals("byte 4 differs", compare(run -> {
            run.expect(run.input(new int[] {5, 6}), new int[] {5, 7});
            run.expect(run.input(new float[] {1}), 0, 0, _ -> 2);
            run.expect(run.input(new int[] {9}), new int[] {9});
        }));
    }
}
