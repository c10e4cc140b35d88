package dev.granary.it;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.cli.Main;
import dev.granary.demo.DriverCacheSettings;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A process of the granary command, as a user starts it. */
final class GranaryProcess {
    private static final long LIMIT_SECONDS = 600;

    private final Process process;
    private final Path out;
    private final Path err;
    private final Path driverCache;

    private GranaryProcess(Process process, Path out, Path err, Path driverCache) {
        this.process = process;
        this.out = out;
        this.err = err;
        this.driverCache = driverCache;
    }

    /** Exit code and output of the process. */
    record Result(int exitCode, String out, String err) {
        JsonObject json() {
            return JsonParser.parseString(out).getAsJsonObject();
        }

        /** Returns a number of the summary of {@code populate} or {@code run}. */
        int summary(String name) {
            return json().getAsJsonObject("summary").get(name).getAsInt();
        }

        @Override
        public String toString() {
            return "exit code " + exitCode + System.lineSeparator() + out + System.lineSeparator()
                    + err;
        }
    }

    /**
     * Starts {@code granary arguments} with these variables and no other Granary variable; the
     * drivers' own caches are off.
     */
    static GranaryProcess start(Map<String, String> variables, String... arguments)
            throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=deny",
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName()));
        command.addAll(List.of(arguments));
        Path out = Files.createTempFile("granary-it-", ".out");
        Path err = Files.createTempFile("granary-it-", ".err");
        Path driverCache = Files.createTempDirectory("granary-it-pocl-");
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment()
                .keySet()
                .removeIf(name -> name.startsWith("GRANARY_") || name.startsWith("AWS_"));
        builder.environment().putAll(DriverCacheSettings.variables(driverCache));
        builder.environment().put("XDG_CONFIG_HOME", "/nonexistent");
        // hits are expected, however busy the machine is
        builder.environment().put("GRANARY_BUCKET_WAIT", "1m");
        builder.environment().putAll(variables);
        return new GranaryProcess(builder.start(), out, err, driverCache);
    }

    /** Starts the command and waits for its end. */
    static Result run(Map<String, String> variables, String... arguments)
            throws IOException, InterruptedException {
        return start(variables, arguments).end();
    }

    /** Waits for the end of the process, and returns its result. */
    Result end() throws IOException, InterruptedException {
        if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
            throw new AssertionError("granary did not end within " + LIMIT_SECONDS + " s:"
                    + System.lineSeparator() + collect());
        }
        return collect();
    }

    private Result collect() throws IOException {
        Result result = new Result(
                process.isAlive() ? -1 : process.exitValue(),
                Files.readString(out, StandardCharsets.UTF_8),
                Files.readString(err, StandardCharsets.UTF_8));
        Files.delete(out);
        Files.delete(err);
        try (Stream<Path> files = Files.walk(driverCache)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
        return result;
    }
}
