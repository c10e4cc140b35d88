package dev.granary.plans.file;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.cache.fuzz.FileFuzzer;
import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlFuzz;
import dev.granary.gpu.DeviceLimits;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.picture.PlanPicture;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Fuzz test of plan files: a kernel of plain C, or a message about the error. */
class PlanFileFuzzTest {
    private static final Target TARGET = new Target(Backend.OPENCL, "v", "d", "1");
    private static final DeviceLimits LIMITS =
            new DeviceLimits(1 << 20, 1 << 20, 4096, List.of(4096L, 4096L, 4096L), 2);
    private static final int MAX_SOURCE = 1 << 20;

    private static final List<String> SEEDS = List.of(
            product(""),
            product("""
                    split = [{index="i",size=4},{index="j",size=4,inner="jj"},{index="k",size=2}]
                    order = ["i", "j", "k", "ii", "jj", "kk"]
                    unroll = ["kk"]
                    bind = { group-y = "i", group-x = "j", item-y = "ii", item-x = "jj" }
                    cache = [
                        {name="AA",source="A",index="ii",location="local",double-buffer=true,
                        double-buffer-location="private",strategy="blocked",vectorize=true},
                        {source="AA",index="kk",layout="last-major",type="half",thrifty=false},
                        {source="B",level=3,location="local"},
                        {source="C",index="k",location="private"}]
                    """),
            product("split=[{index='i',size=2},{index='i',size=1,inner='x'}]\n"
                    + "cache=[{source='A',max-elements=8},{source='B',level=2,trigger-level=4}]"),
            product("split=[{index='j',size=4}]\norder=['i','k','j','jj']\nvectorize='jj'\n"
                    + "cache=[{source='B',index='j',trigger-index='i',layout=[1,9]}]"),
            """
            kernel = "filter"
            logic = "D[x, 2 * y] = max(E[x + u, y], 0.5f) / sqrt(F[-1 * u + 3] * 2 - 1)"
            array = [{name="D",shape=[4,9],role="output",type="float",layout="last-major"},
            {name="E",shape=[7,5],type="int8"},{name="F",shape=[4],role="constant",type="half"}]
            loop = [{index="x",iterations=4},{index="y",iterations=5},{index="u",iterations=1}]
            cache = [{source="F",level=1,location="constant"},{source="E",level=2}]
            """);

    @TempDir
    private Path directory = Path.of("");

    private static String product(String more) {
        return """
                kernel = "gemm"
                logic = "C[i, j] += A[i, k] * B[k, j]"
                array = [{name="A",shape=[7,5]},{name="B",shape=[5,9]},\
                {name="C",shape=[7,9],role="input-output"}]
                loop = [{index="i",iterations=7},{index="j",iterations=9},{index="k",iterations=5}]
                """ + more;
    }

    /** Checks that a plan that was accepted has a kernel, a report and a picture. */
    private static void check(KernelPlan plan) {
        String source = plan.source();
        assertTrue(source.length() < MAX_SOURCE, () -> source.length() + " characters");
        assertTrue(source.matches("[ -~\\n]*"), source);
        assertEquals(1, source.split("__kernel", -1).length - 1, source);
        assertEquals(
                0, source.chars().map(c -> c == '{' ? 1 : c == '}' ? -1 : 0).sum(), source);
        assertTrue(PlanPicture.svg(plan).endsWith("</svg>\n"));
        try {
            plan.descriptor(TARGET, LIMITS);
        } catch (IllegalArgumentException e) {
            TomlFuzz.checkMessage(e); // it exceeds a limit
        }
    }

    @Test
    @DisplayName("Fuzz: a plan file gives one kernel of plain C with its picture, or its error is"
            + " reported with line and column")
    void plans() throws Exception {
        Path file = directory.resolve("plan.toml");
        FileFuzzer.run(
                file,
                FuzzTarget.of("plan.toml", FuzzTarget.texts(SEEDS.toArray(String[]::new)), _ -> {
                            try {
                                check(PlanFile.read(file));
                            } catch (TomlException e) {
                                TomlFuzz.checkMessage(e);
                            }
                        })
                        .words(Stream.concat(
                                        TomlFuzz.WORDS.stream(),
                                        Stream.of(
                                                "1073741824",
                                                "2147483647",
                                                "9223372036854775807",
                                                "C[i, j]",
                                                "A[i, k]",
                                                "+=",
                                                "min=",
                                                "(",
                                                "((((((((",
                                                "i",
                                                "jj",
                                                "name",
                                                "index",
                                                "iterations",
                                                "shape",
                                                "level",
                                                "max-elements",
                                                "trigger-level",
                                                "location",
                                                "'local'",
                                                "'private'",
                                                "{source='A',level=1},",
                                                "{source='AA',max-elements=1},",
                                                "{index='i',size=2,inner='t'},",
                                                ");}__kernel void x(){"))
                                .toList())
                        .allocating(200_000),
                FileFuzzer.runs(20));
    }

    /** A writer of plan files whose values are those that people write, right and wrong ones. */
    private record RandomPlan(SplittableRandom random) {
        private static final List<String> INDICES = List.of("i", "j", "k", "ii", "jj", "kk", "x");
        private static final List<String> AXES =
                List.of("group-x", "group-y", "group-z", "item-x", "item-y", "item-z");

        private String one(List<String> values) {
            return values.get(random.nextInt(values.size()));
        }

        private String size() {
            return random.nextInt(40) == 0
                    ? one(List.of("0", "-1", "1073741824", "2147483647", "9223372036854775807"))
                    : one(List.of("1", "2", "3", "4", "5", "7", "8", "9", "16", "17", "64"));
        }

        private String tables(int count, Supplier<String> table) {
            return Stream.generate(() -> "{" + table.get() + "}")
                    .limit(random.nextInt(count + 1))
                    .collect(Collectors.joining(",\n", "[", "]\n"));
        }

        private String quoted(List<String> values) {
            return "'" + one(values) + "'";
        }

        private String cache() {
            StringBuilder cache =
                    new StringBuilder("source=" + quoted(List.of("A", "B", "C", "A", "AA", "BB")));
            cache.append(", ")
                    .append(one(List.of(
                            "index=" + quoted(INDICES),
                            "level=" + size(),
                            "max-elements=" + size())));
            for (String more : List.of(
                    "name=" + quoted(List.of("AA", "BB", "CC")),
                    "trigger-level=" + size(),
                    "trigger-index=" + quoted(INDICES),
                    "location=" + quoted(List.of("local", "private", "constant", "global")),
                    "location='local'",
                    "double-buffer=true",
                    "double-buffer-location='local'",
                    "layout=[" + size() + ", " + size() + "]",
                    "layout='last-major'",
                    "type=" + quoted(List.of("float", "half", "int8", "int32")),
                    "thrifty=false",
                    "vectorize=true",
                    "strategy='blocked'")) {
                if (random.nextInt(6) == 0 && cache.indexOf(more.split("=")[0] + "=") < 0) {
                    cache.append(", ").append(more);
                }
            }
            return cache.toString();
        }

        String text() {
            String m = size();
            String n = size();
            String k = size();
            return """
                    kernel = "gemm"
                    logic = "C[i, j] += A[i, k] * B[k, j]"
                    array = [{name="A",shape=[%1$s,%3$s]},{name="B",shape=[%3$s,%2$s]},\
                    {name="C",shape=[%1$s,%2$s],role="input-output"}]
                    loop = [{index="i",iterations=%1$s},{index="j",iterations=%2$s},\
                    {index="k",iterations=%3$s}]
                    """.formatted(m, n, random.nextInt(20) == 0 ? size() : k)
                    + "split=" + tables(3, () -> "index=" + quoted(INDICES) + ", size=" + size())
                    + "bind={" + one(AXES) + "=" + quoted(INDICES) + "}\n"
                    + (random.nextInt(4) == 0 ? "vectorize=" + quoted(INDICES) + "\n" : "")
                    + "cache=" + tables(3, this::cache);
        }
    }

    @Test
    @DisplayName("random plan files of right and wrong values: one kernel with its picture, or an"
            + " error with the file")
    void values() throws Exception {
        Path file = directory.resolve("plan.toml");
        RandomPlan writer = new RandomPlan(TestSeed.random("plan files"));
        int accepted = 0;
        int runs = FileFuzzer.runs(10);
        for (int run = 0; run < runs; run++) {
            Files.writeString(file, writer.text());
            try {
                check(PlanFile.read(file));
                accepted++;
            } catch (TomlException e) {
                TomlFuzz.checkMessage(e);
                assertTrue(String.valueOf(e.getMessage()).contains("plan.toml:"), e::toString);
            } catch (RuntimeException e) {
                throw new AssertionError(Files.readString(file), e);
            }
        }
        assertTrue(accepted > 0 && accepted < runs, accepted + " of " + runs);
    }
}
