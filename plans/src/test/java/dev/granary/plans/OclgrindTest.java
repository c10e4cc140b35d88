package dev.granary.plans;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.testing.TestRuns;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;

/**
 * Tests of the kernels of plans under Oclgrind, which reports each access outside of an array or a
 * cache, each race, and each barrier that a work-item misses.
 */
class OclgrindTest {
    @TempDir
    private Path directory;

    @BeforeEach
    void installed() {
        assumeTrue(
                Oclgrind.isInstalled(),
                "Oclgrind is not installed, on Debian: apt-get install oclgrind");
    }

    private void checkRandom(int first, int count) throws Exception {
        for (int number = first; number < first + count; number++) {
            KernelPlan plan = RandomPlans.ofSeed(number);
            assertEquals("", Oclgrind.report(directory, plan, plan.source()), plan::source);
        }
    }

    @Test
    @DisplayName("Oclgrind finds no access outside of memory and no race in random plans")
    void sample() throws Exception {
        checkRandom(0, 8);
    }

    @Test
    @DisplayName("Oclgrind finds nothing in other nests, and in shapes in which long runs found"
            + " faults")
    void otherNests() throws Exception {
        for (KernelPlan plan : OtherPlans.all()) {
            assertEquals("", Oclgrind.report(directory, plan, plan.source()), plan::source);
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("Oclgrind finds nothing in hundreds of random plans")
    void hundreds() throws Exception {
        checkRandom(0, TestRuns.count(75));
    }

    @Test
    @DisplayName("Oclgrind would find a missing barrier and a missing limit")
    void judge() throws Exception {
        Products products = Products.of(7, 9, 5);
        KernelPlan plan = products.bound(4, 4, 4)
                .cache(ArrayCache.of(products.a())
                        .level(3)
                        .location(MemoryLocation.LOCAL)
                        .build());
        assertEquals("", Oclgrind.report(directory, plan, plan.source()), plan::source);
        String race = Oclgrind.report(
                directory, plan, plan.source().replace("barrier(CLK_LOCAL_MEM_FENCE);", ""));
        assertTrue(race.contains("race"), race);
        String outside = Oclgrind.report(
                directory, plan, plan.source().replace("if (i + ii < 7", "if (i + ii < 9"));
        assertTrue(outside.contains("Invalid"), outside);
    }
}
