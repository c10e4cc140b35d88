package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cli.Cli;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Tests of plan files that a mistaken or hostile person writes: an error with its place. */
class HostilePlanTest {
    private static final String ARRAYS = """
            array = [{name="A",shape=[7,5]},{name="B",shape=[5,9]},\
            {name="C",shape=[7,9],role="input-output"}]
            """;
    private static final String HEAD = """
            kernel = "gemm"
            logic = "C[i, j] += A[i, k] * B[k, j]"
            """ + ARRAYS;
    private static final String LOOPS = "loop=[{index='i',iterations=7},{index='j',iterations=9},"
            + "{index='k',iterations=5}]\n";

    @TempDir
    private Path directory;

    private void refused(String plan, String report) throws IOException {
        Path file = Files.writeString(directory.resolve("plan.toml"), plan);
        Cli result = Cli.run("plan", file.toString(), "--emit").exits(2).reports(report);
        assertTrue(result.err().contains("plan.toml:"), result::err);
        assertFalse(result.err().contains("Exception"), result::err);
        assertTrue(result.err().length() < 4000, result::err);
        assertTrue(result.out().isEmpty(), result::out);
    }

    private static String tables(int count, IntFunction<String> table) {
        return IntStream.range(0, count)
                .mapToObj(table)
                .collect(Collectors.joining(",", "[", "]\n"));
    }

    @Test
    @DisplayName("code in names is refused")
    void code() throws IOException {
        for (String name : new String[] {
            "x(){}__kernel void y",
            "a b",
            "a;",
            "a\\nb",
            "é",
            "int",
            "main",
            "__attribute__",
            "",
            "1a",
            "barrier",
            "get_local_id",
            "cl_khr_fp16 enable"
        }) {
            refused("kernel = \"" + name + "\"\nlogic = \"C[i,j] = 1\"\n" + ARRAYS + LOOPS, "");
            refused(HEAD + LOOPS.replace("'k'", "\"" + name + "\""), "");
            refused(HEAD.replace("name=\"A\"", "name=\"" + name + "\"") + LOOPS, "");
            refused(HEAD + LOOPS + "split=[{index='i',size=2,inner=\"" + name + "\"}]", "");
        }
        for (String name : new String[] {"dot", "sin", "atomic_add", "read_imagef", "FLT_MAX"}) {
            refused(HEAD.replace("\"gemm\"", "'" + name + "'") + LOOPS, "OpenCL C has ");
        }
        refused(HEAD.replace("A[i, k]", "A[i, k]; x = 1") + LOOPS, "unknown character");
        refused(HEAD.replace("A[i, k]", "A[i, k] /* */") + LOOPS, "the statement has");
    }

    @Test
    @DisplayName("negative, zero and overflowing numbers are refused")
    void numbers() throws IOException {
        for (String number : new String[] {
            "-1",
            "0",
            "2147483648",
            "-9223372036854775808",
            "9223372036854775807",
            "1.5",
            "'4'",
            "true",
            "1e3",
            "0x7fffffffffffffff",
            "nan",
            "[4]",
            "{}"
        }) {
            refused(HEAD.replace("shape=[7,5]", "shape=[7," + number + "]") + LOOPS, "");
            refused(HEAD + LOOPS.replace("=5", "=" + number), "");
            refused(HEAD + LOOPS + "split=[{index='i',size=" + number + "}]", "");
            refused(HEAD + LOOPS + "cache=[{source='A',level=" + number + "}]", "");
            refused(HEAD + LOOPS + "cache=[{source='A',max-elements=" + number + "}]", "");
            refused(HEAD + LOOPS + "cache=[{source='A',level=1,trigger-level=" + number + "}]", "");
            refused(HEAD + LOOPS + "cache=[{source='A',level=3,layout=[" + number + ",1]}]", "");
        }
        refused(
                HEAD.replace("shape=[7,5]", "shape=[2147483647,2147483647]") + LOOPS,
                "spans 2^31 elements or more");
        refused(
                HEAD + LOOPS + "cache=[{source='A',level=3,layout=[9223372036854775807,1]}]",
                "is too large");
        refused(HEAD.replace("A[i, k]", "A[i, 2147483647 * k]") + LOOPS, "but the array has");
        refused(HEAD.replace("A[i, k]", "A[i, k] * 99999999999") + LOOPS, "which is too large");
        refused(
                HEAD.replace("A[i, k]", "A[i, k] * " + "9".repeat(60) + "f") + LOOPS,
                "must be finite");
    }

    @Test
    @DisplayName("thousands of loops, splits, arrays and caches, deep nests: an error, no hang")
    void sizes() throws IOException {
        refused(
                HEAD + "loop=" + tables(5000, i -> "{index='i" + i + "',iterations=2}"),
                "5000 loops; 1 to 32 are possible");
        refused(
                HEAD + LOOPS + "split="
                        + tables(5000, i -> "{index='i',size=1,inner='t" + i + "'}"),
                "a schedule has at most 32 loops");
        refused(
                HEAD + LOOPS + "cache=[{name='c0',source='A',max-elements=9999},"
                        + tables(
                                        5000,
                                        i -> "{name='c" + (i + 1) + "',source='c" + i
                                                + "',max-elements=" + (9998 - i) + "}")
                                .substring(1),
                "has 32 caches; more are not possible");
        refused(
                HEAD.replace("A[i, k]", "(".repeat(900) + "A[i, k]" + ")".repeat(900)) + LOOPS,
                "nested parentheses");
        refused(
                HEAD.replace("A[i, k]", "A[i, k]" + " + A[i, k]".repeat(5000)) + LOOPS,
                "more than 2000 characters");
        refused("x = " + "[".repeat(100_000), "");
        refused(HEAD + LOOPS + "order=" + tables(5000, i -> "'i'"), "each of these loops once");
    }

    @Test
    @DisplayName("wrong indices, cycles of caches, and loops that are bound twice are refused")
    void references() throws IOException {
        refused(HEAD + LOOPS + "split=[{index='x',size=2}]", "There is no loop x");
        refused(HEAD + LOOPS + "order=['i','j']", "each of these loops once");
        refused(HEAD + LOOPS + "unroll=['x']", "There is no loop x");
        refused(HEAD + LOOPS + "vectorize='i'", "Only the innermost loop can be vectorized");
        refused(HEAD + LOOPS + "bind={group-x='k'}", "work-items would write one element");
        refused(HEAD + LOOPS + "bind={group-x='i',item-x='i'}", "is bound already");
        refused(HEAD + LOOPS + "cache=[{name='c',source='c',level=1}]", "no array or cache c");
        refused(
                HEAD + LOOPS + "cache=[{name='A',source='A',level=1}]",
                "another array or cache has the name A");
        refused(
                HEAD + LOOPS + "cache=[{source='A',level=1},{source='A',level=2}]",
                "cache that cache");
        refused(HEAD + LOOPS + "cache=[{source='A',index='x'}]", "There is no loop x");
        refused(HEAD + LOOPS.replace("'k'", "'i'"), "two loops with the index i");
        refused(HEAD, "no loops; 1 to 32 are possible");
        refused(LOOPS + ARRAYS + "kernel='g'", "logic is missing");
    }

    @Test
    @DisplayName("a work-group of 2^31 work-items or more is refused")
    void groups() throws IOException {
        refused("""
                kernel = "fill"
                logic = "C[i] = 1"
                array = [{name="C",shape=[1073741824],role="output",type="int8"}]
                loop = [{index="i",iterations=1073741824}]
                split = [{index="i",size=1073741823,inner="t"},
                {index="t",size=1073741822,inner="u"}]
                bind = { item-x = "i", item-y = "t", item-z = "u" }
                """, "would have 4294967288 work-items; bind a smaller loop");
    }
}
