package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;

import dev.granary.cli.Cli;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.plans.ArrayCache;
import dev.granary.plans.ArrayCache.CopyStrategy;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.ParallelAxis;
import dev.granary.plans.file.PlanFile;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.KernelArray.ArrayLayout;
import dev.granary.plans.nest.KernelArray.ArrayRole;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Tests of plan files and of {@code granary plan}. */
class PlanCommandTest {
    private static final String GEMM = """
            kernel = "gemm"
            logic = "C[i, j] += A[i, k] * B[k, j]"
            order = ["i", "j", "k", "ii", "jj", "kk"]
            unroll = ["kk"]
            bind = { group-y = "i", group-x = "j", item-y = "ii", item-x = "jj" }

            [[array]]
            name = "A"
            shape = [127, 11]

            [[array]]
            name = "B"
            role = "constant"
            type = "half"
            shape = [11, 251]
            layout = "last-major"

            [[array]]
            name = "C"
            role = "input-output"
            shape = [127, 251]
            layout = [256, 1]

            [[loop]]
            index = "i"
            iterations = 127

            [[loop]]
            index = "j"
            iterations = 251

            [[loop]]
            index = "k"
            iterations = 11

            [[split]]
            index = "i"
            size = 16

            [[split]]
            index = "j"
            size = 8
            inner = "jj"

            [[split]]
            index = "k"
            size = 4

            [[cache]]
            name = "AA"
            source = "A"
            level = 3
            location = "local"
            double-buffer = true
            double-buffer-location = "private"
            strategy = "blocked"
            vectorize = true

            [[cache]]
            source = "AA"
            index = "kk"
            trigger-level = 1
            layout = "last-major"
            type = "half"
            location = "private"

            [[cache]]
            source = "B"
            index = "kk"
            trigger-index = "ii"
            thrifty = false

            [[cache]]
            source = "C"
            max-elements = 1
            """;

    @TempDir
    private Path directory;

    private Path file(String content) throws IOException {
        return Files.writeString(directory.resolve("plan.toml"), content);
    }

    /** Returns the plan of the file, written in Java. */
    private static KernelPlan expected() {
        LoopIndex i = LoopIndex.of("i");
        LoopIndex j = LoopIndex.of("j");
        LoopIndex k = LoopIndex.of("k");
        KernelArray a = KernelArray.input("A", ElementType.FLOAT, 127, 11);
        KernelArray b = KernelArray.of("B", ArrayRole.CONSTANT, ElementType.HALF, 11, 251)
                .layout(ArrayLayout.LAST_MAJOR);
        KernelArray c = KernelArray.inputOutput("C", ElementType.FLOAT, 127, 251)
                .layout(ArrayLayout.coefficients(256, 1));
        ArrayCache aa = ArrayCache.of(a)
                .level(3)
                .location(MemoryLocation.LOCAL)
                .doubleBuffered()
                .doubleBufferLocation(MemoryLocation.PRIVATE)
                .strategy(CopyStrategy.BLOCKED)
                .vectorized()
                .build();
        return KernelPlan.of(LoopNest.named("gemm")
                        .loop(i, 127)
                        .loop(j, 251)
                        .loop(k, 11)
                        .logic(c.at(i, j).add(a.at(i, k).times(b.at(k, j))))
                        .schedule()
                        .tile(i.by(16), j.by(8), k.by(4))
                        .reorder(i, j, k, i.inner(), j.inner(), k.inner())
                        .unroll(k.inner()))
                .bind(i, ParallelAxis.GROUP_Y)
                .bind(j, ParallelAxis.GROUP_X)
                .bind(i.inner(), ParallelAxis.ITEM_Y)
                .bind(j.inner(), ParallelAxis.ITEM_X)
                .cache(aa)
                .cache(ArrayCache.of(aa)
                        .index(k.inner())
                        .triggerLevel(1)
                        .layout(ArrayLayout.LAST_MAJOR)
                        .elementType(ElementType.HALF)
                        .location(MemoryLocation.PRIVATE)
                        .build())
                .cache(ArrayCache.of(b)
                        .index(k.inner())
                        .triggerIndex(i.inner())
                        .notThrifty()
                        .build())
                .cache(ArrayCache.of(c).maxElements(1).build());
    }

    @Test
    @DisplayName("a size beyond 31 bits is an error that says so")
    void hugeSize() throws Exception {
        Path file = file(GEMM.replace("shape = [127, 11]", "shape = [9223372036854775807, 11]"));
        Cli.run("plan", file.toString()).exits(2).reports(":", "is too large");
    }

    @Test
    @DisplayName("a file gives the plan that Java gives")
    void file() throws Exception {
        KernelPlan read = PlanFile.read(file(GEMM));
        assertEquals(expected().source(), read.source());
        assertEquals(expected(), read);
    }

    @Test
    @NeedsPocl
    @DisplayName("plan prints the kernel, blocks, bytes, elided copies and limits")
    void text() throws Exception {
        String path = file(GEMM).toString();
        Cli.run("plan", path, "--device", "portable", "--emit")
                .exits(0)
                .prints(
                        expected().source(),
                        "A             3  16 x 4        64  local      256       4",
                        "C             6  1 x 1          1  elided       0       0",
                        "local      256 bytes for a work-group",
                        "elided     1 copy",
                        "resident",
                        "launch     256x128/8x16");
        Cli plain = Cli.run("plan", path, "--device", "portable").exits(0).isNarrow();
        assertFalse(plain.out().contains("__kernel"));
    }

    @Test
    @NeedsPocl
    @DisplayName("plan prints JSON")
    void json() throws Exception {
        String path = file(GEMM).toString();
        JsonObject json = Cli.run("plan", path, "--device", "portable", "--emit", "--json")
                .exits(0)
                .json();
        assertEquals(expected().source(), json.get("source").getAsString());
        assertEquals(4, json.getAsJsonArray("caches").size());
        assertEquals(256, json.get("localBytes").getAsLong());
        assertTrue(json.get("id").getAsString().length() > 40);
        assertTrue(json.get("deviceGroupItems").getAsLong() > 0);
    }

    @Test
    @NeedsPocl
    @DisplayName("a plan that does not fit the device fails after its report")
    void tooLarge() throws Exception {
        Cli.run(
                        "plan",
                        file(GEMM.replace("size = 16", "size = 120")
                                        .replace("size = 8", "size =" + " 240"))
                                .toString(),
                        "--device",
                        "portable")
                .exits(1)
                .prints("none: the plan exceeds a limit", "resident   0 work-groups")
                .reports("28800 work-items in a work-group, the device at most");
    }

    @Test
    @DisplayName("mistakes are refused with file, line and column")
    void mistakes() throws Exception {
        wrong("kernel = \"gemm\"", "kernel = 5", "plan.toml:1:1", "kernel must be a string");
        wrong("kernel = \"gemm\"", "kernel = \"for\"", "plan.toml:1:1", "OpenCL C has that word");
        wrong("kernel = \"gemm\"", "", "kernel is missing");
        wrong("unroll", "unrol", "plan.toml:4:1", "unknown key 'unrol'; a plan has array");
        wrong("A[i, k] *", "A[i, k] %", "plan.toml:2:1", "unknown character in column 20");
        wrong("A[i, k] *", "X[i, k] *", "'X', which is no array of the file");
        wrong("A[i, k] *", "A[i] *", "The array A has 2 dimensions, not 1");
        wrong("A[i, k] *", "A[i, k + 1] *", "is 1 to 11, but the array has 0 to 10");
        wrong("A[i, k] *", "tan(A[i, k]) *", "the function 'tan'; there are sqrt");
        wrong("+= A", "-= A", "in place of =, +=");
        wrong("k, j]\"", "k, j] B\"", "'B' after its end");
        wrong("* B[k, j]\"", "*\"", "where more is needed");
        wrong("type = \"half\"", "type = \"double\"", "one of float, int32, int8, half");
        wrong("layout = [256, 1]", "layout = [9, 1]", "give two elements");
        wrong("layout = \"last", "layout = \"middle", "\"first-major\", \"last-major\" or");
        wrong("iterations = 11", "iterations = \"x\"", "must be a whole number");
        wrong("size = 16", "size = 0", "must be positive, not 0");
        wrong("item-x", "item-w", "unknown key 'item-w'; bind has group-x");
        wrong("level = 3", "level = 30", "level 30", "exceeds the number of loops, 6");
        wrong("source = \"AA\"", "source = \"AAA\"", "no array or cache AAA before");
        wrong("thrifty = false", "thrifty = 0", "thrifty must be true or false");
        wrong("location = \"local\"", "location = \"global\"", "cannot be in global memory");
        Cli.run("plan", directory.resolve("none.toml").toString())
                .exits(2)
                .reports("none.toml cannot be read: there is no such file");
        Cli.run("plan", file("[").toString()).exits(2).reports("this is not TOML");
    }

    private void wrong(String part, String replacement, String... reports) throws IOException {
        Cli.run("plan", file(GEMM.replace(part, replacement)).toString())
                .exits(2)
                .reports(reports);
    }
}
