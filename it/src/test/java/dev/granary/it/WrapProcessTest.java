package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.testing.Await;
import dev.granary.testing.TestRuns;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Tests of {@code granary wrap} around real programs, by the real command. */
class WrapProcessTest {
    private static final String PYTHON = "/usr/bin/python3"; // of Debian's packages

    private final EmbeddedS3 server;
    private final Path directory;

    WrapProcessTest(@TempDir Path directory) throws IOException {
        this.directory = directory;
        this.server = EmbeddedS3.start(null);
    }

    @BeforeEach
    void createBucket() {
        server.createBucket("kernels");
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private GranaryProcess start(String machine, String... arguments) throws Exception {
        Path home = Files.createDirectories(directory.resolve(machine));
        Map<String, String> variables = new HashMap<>(Map.of(
                "HOME", home.toString(),
                "XDG_CACHE_HOME", home.resolve("cache").toString(),
                "GRANARY_DIR", home.resolve("granary").toString(),
                "GRANARY_BUCKET", "s3://kernels/team",
                "GRANARY_S3_ENDPOINT", server.endpoint().toString(),
                "AWS_ACCESS_KEY_ID", server.accessKey(),
                "AWS_SECRET_ACCESS_KEY", server.secretKey(),
                "AWS_REGION", "us-east-1"));
        variables.put("POCL_CACHE_DIR", home.resolve("pocl").toString());
        variables.put("NUMBA_CACHE_DIR", home.resolve("numba").toString());
        List<String> all = new ArrayList<>(List.of("wrap", "--json", "--wait", "300"));
        all.addAll(List.of(arguments));
        return GranaryProcess.start(variables, all.toArray(String[]::new));
    }

    /** Runs a program to its end and returns the result for its first tool. */
    private JsonObject run(String machine, String... arguments) throws Exception {
        GranaryProcess.Result result = start(machine, arguments).end();
        assertEquals(0, result.exitCode(), result::toString);
        return JsonParser.parseString(result.err().substring(result.err().indexOf('{')))
                .getAsJsonObject()
                .getAsJsonArray("tools")
                .get(0)
                .getAsJsonObject();
    }

    private static void assumePython(String module) throws Exception {
        boolean isThere = Files.exists(Path.of(PYTHON))
                && new ProcessBuilder(PYTHON, "-c", "import " + module)
                                .redirectErrorStream(true)
                                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                                .start()
                                .waitFor()
                        == 0;
        Assumptions.assumeTrue(isThere, "no " + module + " in " + PYTHON);
    }

    private Path script(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text);
    }

    @Test
    @DisplayName("a program of pyopencl on PoCL: the second machine compiles nothing")
    void pyopencl() throws Exception {
        assumePython("pyopencl");
        String program = Path.of("../examples/wrap/kernels.py").toAbsolutePath().toString();
        JsonObject first =
                run("first", "--tool", "pocl", "--tool", "pyopencl", "--", PYTHON, program, "2");
        assertTrue(first.get("published").getAsInt() > 0, first::toString);
        JsonObject second =
                run("second", "--tool", "pocl", "--tool", "pyopencl", "--", PYTHON, program, "2");
        assertTrue(second.get("opened").getAsInt() > 0, second::toString);
        assertEquals(0, second.get("written").getAsInt(), second::toString);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a function of Numba: the second machine loads what the first has compiled")
    void numba() throws Exception {
        assumePython("numba");
        String program = script("program.py", """
                import numba
                @numba.njit(cache=True)
                def twice(x):
                    return 2 * x
                assert twice(21) == 42
                """).toString();
        JsonObject first = run("first", "--tool", "numba", "--", PYTHON, program);
        assertEquals(2, first.get("published").getAsInt(), first::toString);
        JsonObject second = run("second", "--tool", "numba", "--", PYTHON, program);
        assertEquals(2, second.get("opened").getAsInt(), second::toString);
        assertEquals(0, second.get("written").getAsInt(), second::toString);
    }

    @Test
    @DisplayName("signals reach the program, whose streams and exit code are those of the command")
    void passedThrough() throws Exception {
        Assumptions.assumeTrue(Files.exists(Path.of("/proc/self/status")), "no /proc");
        Path ready = directory.resolve("ready");
        String program = script("program.sh", """
                trap 'echo interrupted; exit 6' INT
                trap 'echo terminated; exit 5' TERM
                read line
                echo "$line $2"
                : >"$1"
                while true; do sleep 0.05; done
                """).toString();
        // a shell starts background jobs so that they, and what they start, ignore an interrupt
        boolean isIgnored = Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("SigIgn:"))
                .anyMatch(line -> (Long.parseUnsignedLong(line.substring(7).strip(), 16) & 2) != 0);
        for (String signal : isIgnored ? List.of("TERM") : List.of("TERM", "INT")) {
            GranaryProcess wrapped = start(
                    "one",
                    "--dir",
                    "x=" + directory.resolve("x"),
                    "sh",
                    program,
                    ready.toString(),
                    "--json");
            try (var in = wrapped.process().outputWriter()) {
                in.write("hello\n");
            }
            Await.holds(() -> Files.exists(ready) || !wrapped.process().isAlive());
            Files.delete(ready);
            int sent = new ProcessBuilder(
                            "kill",
                            "-" + signal,
                            Long.toString(wrapped.process().pid()))
                    .start()
                    .waitFor();
            assertEquals(0, sent);
            GranaryProcess.Result result = wrapped.end();
            assertEquals(signal.equals("TERM") ? 5 : 6, result.exitCode(), result::toString);
            assertTrue(result.out().startsWith("hello --json\n"), result::toString);
            assertTrue(result.out().contains(signal.equals("TERM") ? "terminated" : "interrupted"));
        }
    }

    @Test
    @DisplayName("killed at any moment of a run: what others fetch is whole, and a later run"
            + " publishes the rest that the local directory has")
    void killed() throws Exception {
        SplittableRandom random = TestSeed.random("wrap");
        Path files = directory.resolve("files");
        String text = "0123456789".repeat(20_000);
        String program = script(
                        "program.sh",
                        "for i in $(seq 30); do printf $i >" + files
                                + "/$1-$i; printf " + "'%s' \"$(cat " + script("text", text)
                                + ")\" >>" + files
                                + "/$1-$i; done\n")
                .toString();
        Files.createDirectories(files);
        for (int run = 0; run < TestRuns.count(1); run++) {
            GranaryProcess wrapped = start(
                    "victim", "--dir", "x=" + files, "--every", "1", "sh", program, "r" + run);
            if (!wrapped.process().waitFor(1000 + random.nextInt(3000), TimeUnit.MILLISECONDS)) {
                wrapped.process().destroyForcibly();
            }
            wrapped.end();
        }
        run("victim", "--dir", "x=" + files, "sh", program, "last");
        Path others = Files.createDirectories(directory.resolve("others"));
        run("reader", "--dir", "x=" + others, "true");
        try (Stream<Path> all = Files.list(others)) {
            List<Path> fetched = all.toList();
            assertTrue(fetched.size() >= 30, fetched::toString);
            for (Path file : fetched) {
                String name = file.getFileName().toString();
                String number = name.substring(name.indexOf('-') + 1);
                assertEquals(number + text, Files.readString(file), name);
            }
        }
    }
}
