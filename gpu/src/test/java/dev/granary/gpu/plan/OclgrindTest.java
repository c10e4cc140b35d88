package dev.granary.gpu.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.gpu.plan.nest.ElementType;
import dev.granary.gpu.plan.nest.KernelArray;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Tests of the kernels of plans under Oclgrind, which reports each access outside of an array or a
 * cache, each race, and each barrier that a work-item misses. {@code -Dgranary.oclgrind=PATH} names
 * its program {@code oclgrind-kernel}.
 */
class OclgrindTest {
    private static final String PROGRAM = System.getProperty("granary.oclgrind", "oclgrind-kernel");

    @TempDir
    private Path directory;

    @BeforeEach
    void installed() {
        assumeTrue(isInstalled(), "Oclgrind is not installed, on Debian: apt-get install oclgrind");
    }

    private static boolean isInstalled() {
        try {
            return new ProcessBuilder(PROGRAM, "--version").start().waitFor() == 0;
        } catch (IOException | InterruptedException e) {
            return false;
        }
    }

    /** Returns the report of Oclgrind on a run of a kernel. */
    private String report(KernelPlan plan, String source) throws Exception {
        Path kernel = directory.resolve(plan.name() + ".cl");
        Files.writeString(kernel, source);
        List<String> lines = new ArrayList<>(List.of(kernel.toString(), plan.name()));
        lines.add(sizes(plan.geometry().global()));
        lines.add(sizes(plan.geometry().local()));
        for (KernelArray array : plan.arguments()) {
            lines.add("<size=" + array.byteSize() + " " + type(array.type()) + " fill=1>");
        }
        Path run = directory.resolve(plan.name() + ".sim");
        Files.write(run, lines);
        Process process = new ProcessBuilder(PROGRAM, "--data-races", run.toString())
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertEquals(0, process.waitFor(), output);
        return output;
    }

    private static String sizes(List<Long> sizes) {
        List<Long> three = new ArrayList<>(sizes);
        while (three.size() < 3) {
            three.add(1L);
        }
        return three.stream().map(String::valueOf).collect(Collectors.joining(" "));
    }

    private static String type(ElementType type) {
        return switch (type) {
            case FLOAT -> "float";
            case INT32 -> "int";
            case INT8 -> "char";
            case HALF -> "short";
        };
    }

    private void checkRandom(int first, int count) throws Exception {
        for (int number = first; number < first + count; number++) {
            KernelPlan plan =
                    new PlanGenerator(TestSeed.random("plan " + number), "plan" + number).plan();
            assertEquals("", report(plan, plan.source()), plan::source);
        }
    }

    @Test
    @DisplayName("P7 Oclgrind finds no access outside of memory and no race in random plans")
    void sample() throws Exception {
        checkRandom(0, 8);
    }

    @Test
    @DisplayName("P7 Oclgrind finds nothing in other nests, and in shapes in which long runs found"
            + " faults")
    void otherNests() throws Exception {
        for (KernelPlan plan : OtherPlans.all()) {
            assertEquals("", report(plan, plan.source()), plan::source);
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("P7 Oclgrind finds nothing in hundreds of random plans")
    void hundreds() throws Exception {
        checkRandom(0, Integer.getInteger("granary.plans.runs", 300));
    }

    @Test
    @DisplayName("P7 Oclgrind would find a missing barrier and a missing limit")
    void judge() throws Exception {
        Products products = Products.of(7, 9, 5);
        KernelPlan plan = products.bound(4, 4, 4)
                .cache(ArrayCache.of(products.a())
                        .level(3)
                        .location(MemoryLocation.LOCAL)
                        .build());
        assertEquals("", report(plan, plan.source()), plan::source);
        String race = report(plan, plan.source().replace("barrier(CLK_LOCAL_MEM_FENCE);", ""));
        assertTrue(race.contains("race"), race);
        String outside = report(plan, plan.source().replace("if (i + ii < 7", "if (i + ii < 9"));
        assertTrue(outside.contains("Invalid"), outside);
    }
}
