package dev.granary.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import static java.util.stream.Collectors.toSet;

import dev.granary.cache.constant.ConstantTensorCache.Limit;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.plans.tuning.PlanSpace;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/** Tests of the space of plans, and of constant weights that two programs share. */
class ProductsTest {
    private static final PlanSpace SPACE = Products.SPACE;

    @TempDir
    private Path directory = Path.of("");

    private static Program program(int point) {
        return Products.tuned(SPACE.plan(SPACE.point(point)));
    }

    private static OpenClEngine engine() {
        return OpenClEngine.open(OpenCl.devices().getFirst());
    }

    private static void check(int point) throws Exception {
        Program program = program(point);
        try (OpenClEngine engine = engine();
                LoadedKernels kernels =
                        engine.load(engine.create(program.descriptor(engine.target(), "")))) {
            assertEquals(
                    "",
                    program.check(engine, kernels, TestSeed.random("product")),
                    () -> SPACE.point(point).toString());
        }
    }

    @Test
    @DisplayName("Each point of the space is another plan")
    void plans() {
        assertEquals(
                SPACE.size(),
                IntStream.range(0, SPACE.size())
                        .mapToObj(point -> program(point)
                                .descriptor(ProgramsTest.SOME_POCL, "")
                                .getId())
                        .collect(toSet())
                        .size());
    }

    @Test
    @NeedsPocl
    @DisplayName("Plans of the space compute the product")
    void sample() throws Exception {
        SplittableRandom random = TestSeed.random("points");
        for (int point : List.of(random.nextInt(SPACE.size()), random.nextInt(SPACE.size()))) {
            check(point);
        }
    }

    @Test
    @NeedsPocl
    @Tag("exhaustive")
    @DisplayName("All plans of the space compute the product")
    void all() throws Exception {
        for (int point = 0; point < SPACE.size(); point++) {
            check(point);
        }
    }

    @Test
    @NeedsPocl
    @DisplayName("Packed weights are made once and used by two programs; all results are right")
    void packedOnce() throws Exception {
        try (OpenClEngine engine = engine();
                Granary granary = granary()) {
            assertEquals("", Products.shareWeights(granary, engine, TestSeed.random("weights")));
            assertEquals(1, granary.constants().statistics().made());
            assertEquals(
                    Products.WEIGHT_USES - 1, granary.constants().statistics().reused());
            assertEquals(Products.PACKED_BYTES, granary.constants().statistics().bytes());
        }
    }

    @Test
    @NeedsPocl
    @DisplayName("Without space in the cache each use packs its own weights; all results are right")
    void notKept() throws Exception {
        try (OpenClEngine engine = engine();
                Granary granary = granary()) {
            granary.constants().setLimit(engine.kind(), Limit.of(0));
            assertEquals("", Products.shareWeights(granary, engine, TestSeed.random("weights")));
            assertEquals(Products.WEIGHT_USES, granary.constants().statistics().made());
        }
    }

    private Granary granary() throws Exception {
        return Granary.open(GranaryConfig.builder().directory(directory).build());
    }

    @Test
    @NeedsPocl
    @DisplayName("The check detects wrong weights")
    void wrongWeights() throws Exception {
        Program layer = Products.LINEAR;
        try (OpenClEngine engine = engine();
                LoadedKernels kernels =
                        engine.load(engine.create(layer.descriptor(engine.target(), "")));
                ProgramRun run = new ProgramRun(
                        engine, kernels, layer.launches(), TestSeed.random("inputs"))) {
            float[] weights = Products.weights(TestSeed.random("weights"));
            Products.checkLayer(
                    run, false, weights, run.input(new float[Products.PACKED_BYTES / 4]));
            assertFalse(run.difference().isEmpty());
        }
    }
}
