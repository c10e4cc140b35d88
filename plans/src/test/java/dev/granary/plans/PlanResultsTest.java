package dev.granary.plans;

import static dev.granary.plans.Products.II;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Tests of the results of plans on PoCL against the scalar reference: by default on one size that
 * no tile divides, exhaustively on all sizes.
 */
@NeedsPocl
class PlanResultsTest {
    private static final int[] UNEVEN = {13, 19, 11};
    private static final List<int[]> SIZES = List.of(
            new int[] {127, 251, 11}, new int[] {31, 37, 41}, new int[] {1, 1, 1}, new int[] {
                32, 64, 16
            });

    private final PlanHarness harness = new PlanHarness();

    @AfterEach
    void close() {
        harness.close();
    }

    @Test
    @DisplayName("sizes that no tile divides: a sample of the caches by level, index and budget,"
            + " hierarchical, multiple and double buffered, of each layout and type")
    void sample() throws Exception {
        List<KernelPlan> plans = new ArrayList<>(ProductPlans.of(UNEVEN));
        SplittableRandom random = TestSeed.random("sample of plans");
        while (plans.size() > 4) {
            plans.remove(random.nextInt(plans.size()));
        }
        harness.check(plans);
    }

    @Test
    @DisplayName("a convolution with a cache of a cache, a reduction, and functions on vectors")
    void otherNests() throws Exception {
        harness.check(OtherPlans.all());
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("all caches on sizes that no tile divides, primes, one, and even sizes")
    void everything() throws Exception {
        harness.check(ProductPlans.of(UNEVEN));
        for (int[] size : SIZES) {
            harness.check(ProductPlans.of(size));
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the example of Accera's manual: 1024 x 1024 x 1024 in tiles of 32, 64, 128 with"
            + " a double buffer")
    void manual() throws Exception {
        int n = 1024;
        Products products = Products.of(n, n, n);
        KernelPlan plan = KernelPlan.of(products.tiled(32, 64, 128))
                .cache(ArrayCache.of(products.a()).index(II).doubleBuffered().build());
        SplittableRandom random = TestSeed.random("manual");
        float[] a = new float[n * n];
        float[] b = new float[n * n];
        for (int i = 0; i < n * n; i++) {
            a[i] = random.nextInt(-2, 3);
            b[i] = random.nextInt(-2, 3);
        }
        float[] found = new float[n * n];
        var engine = harness.engine();
        try (LoadedKernels kernels = engine.load(engine.create(
                        plan.descriptor(engine.target(), engine.device().limits())));
                OpenClBuffer ofA = engine.bufferOf(a);
                OpenClBuffer ofB = engine.bufferOf(b);
                OpenClBuffer ofC = engine.bufferOf(found)) {
            kernels.launch(plan.name(), plan.geometry(), ofA, ofB, ofC);
            ofC.read(found);
        }
        float[] row = new float[n];
        for (int i = 0; i < n; i++) {
            Arrays.fill(row, 0);
            for (int k = 0; k < n; k++) {
                for (int j = 0; j < n; j++) {
                    row[j] += a[i * n + k] * b[k * n + j];
                }
            }
            for (int j = 0; j < n; j++) {
                assertEquals(row[j], found[i * n + j]);
            }
        }
        assertTrue(plan.source().contains("A_next"));
    }
}
