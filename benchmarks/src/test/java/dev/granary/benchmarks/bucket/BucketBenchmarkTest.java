package dev.granary.benchmarks.bucket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.benchmarks.bucket.server.BucketWorkspace;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Tests that a tiny run on the embedded server has the figures of each section, of any value, and
 * leaves nothing behind.
 */
class BucketBenchmarkTest {
    private static final int USAGE = 2;
    private static final int WIDTH = 100;

    @TempDir
    private Path directory = Path.of("");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @AfterEach
    void nothingLeft() throws Exception {
        if (Files.exists(directory.resolve("work"))) {
            try (Stream<Path> left = Files.list(directory.resolve("work"))) {
                assertEquals(List.of(), left.toList());
            }
        }
    }

    @Test
    @DisplayName("warm: the command and a running JVM install everything, by each way; the proxy"
            + " counts the requests")
    void warm() throws Exception {
        JsonArray sections = sections(
                "--entries", "40", "--rounds", "1", "--delays", "5", "--content", "kernels");
        for (String way : delayed() ? List.of("direct", "5ms") : List.of("direct")) {
            JsonObject section = named(sections, "warm-" + way);
            for (String row : List.of("warm", "warm, running JVM")) {
                assertTrue(figure(section, row, "seconds") > 0, row);
            }
            double requests = figure(section, "warm", "requests");
            assertTrue(requests >= 3 && requests <= 10, () -> "requests: " + requests);
        }
        tellOfMissing("rclone", "aws");
    }

    @Test
    @DisplayName("an unknown server or delay, or a count out of range: usage, exit code 2,"
            + " nothing written")
    void wrongUsage() {
        Path work = directory.resolve("work");
        assertEquals(USAGE, run("--server", "floppy", "--dir", work.toString()));
        assertEquals(USAGE, run("--delays", "0", "--dir", work.toString()));
        assertEquals(USAGE, run("--entries", "1", "--dir", work.toString()));
        assertEquals(USAGE, run("--entries", "50001", "--dir", work.toString()));
        assertTrue(Files.notExists(work));
    }

    private JsonArray sections(String... options) throws Exception {
        assumeTrue(
                BucketWorkspace.program("setpriv") != null,
                "the embedded server's script needs util-linux");
        Path json = directory.resolve("figures.json");
        List<String> arguments = Stream.concat(
                        Stream.of(
                                "--server",
                                "embedded",
                                "--dir",
                                directory.resolve("work").toString(),
                                "--json",
                                json.toString()),
                        Stream.of(options))
                .toList();
        assertEquals(0, run(arguments.toArray(String[]::new)), err::toString);
        assertTrue(out.toString().lines().allMatch(line -> line.length() <= WIDTH), out::toString);
        return JsonParser.parseString(Files.readString(json))
                .getAsJsonObject()
                .getAsJsonArray("sections");
    }

    private int run(String... arguments) {
        return BucketBenchmark.commandLine()
                .setOut(new PrintWriter(out))
                .setErr(new PrintWriter(err))
                .execute(arguments);
    }

    private static boolean delayed() {
        return BucketWorkspace.program("haproxy") != null
                || Files.isExecutable(Path.of("/usr/sbin/haproxy"));
    }

    private static void tellOfMissing(String... programs) {
        for (String program : programs) {
            if (BucketWorkspace.program(program) == null) {
                System.out.println("granary.test.bench=" + program
                        + " is not installed and was not compared with");
            }
        }
    }

    private static double figure(JsonObject section, String row, String column) {
        return named(section.getAsJsonArray("rows"), row).get(column).getAsDouble();
    }

    private static JsonObject named(JsonArray objects, String name) {
        for (JsonElement object : objects) {
            if (object.getAsJsonObject().get("name").getAsString().equals(name)) {
                return object.getAsJsonObject();
            }
        }
        throw new AssertionError("there is no " + name + " in " + objects);
    }
}
