package dev.granary.gpu.plan;

import static dev.granary.gpu.plan.Products.I;
import static dev.granary.gpu.plan.Products.II;
import static dev.granary.gpu.plan.Products.J;
import static dev.granary.gpu.plan.Products.JJ;
import static dev.granary.gpu.plan.Products.K;
import static dev.granary.gpu.plan.Products.KK;

import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Tests of the results of plans on PoCL against the scalar reference. */
@NeedsPocl
class PlanResultsTest {
    private final PlanHarness harness = new PlanHarness(TestSeed.random("plans"));

    @AfterEach
    void close() {
        harness.close();
    }

    @Test
    @DisplayName("P5 uneven sizes: local caches of both factors, a private cache of the sum, and a"
            + " double buffer")
    void uneven() throws Exception {
        for (int[] size : new int[][] {{127, 251, 11}, {31, 37, 41}, {1, 1, 1}}) {
            Products products = Products.of(size[0], size[1], size[2]);
            harness.check(products.bound(16, 8, 4)
                    .cache(ArrayCache.of(products.a())
                            .index(II)
                            .location(MemoryLocation.LOCAL)
                            .doubleBuffered()
                            .build())
                    .cache(ArrayCache.of(products.b())
                            .index(II)
                            .location(MemoryLocation.LOCAL)
                            .strategy(CopyStrategy.BLOCKED)
                            .build())
                    .cache(ArrayCache.of(products.c()).index(K).build()));
        }
    }
}
