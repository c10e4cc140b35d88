package dev.granary.it;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.cache.support.FileTrees;
import dev.granary.cli.Main;
import dev.granary.demo.DriverVariables;
import dev.granary.testing.ChildJvm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** A process of the granary command, as a user starts it. */
final class GranaryProcess {
    private final ChildJvm.Recording process;
    private final Path driverCache;

    private GranaryProcess(ChildJvm.Recording process, Path driverCache) {
        this.process = process;
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
     * Returns a launcher of {@code main} for a short run with these variables, without each other
     * Granary variable; the drivers' own caches are off.
     */
    static ChildJvm jvm(Class<?> main, Path driverCache, Map<String, String> variables) {
        return ChildJvm.of(main)
                .shortLived()
                .withoutVariables("GRANARY_", "AWS_")
                .variables(DriverVariables.withoutCaches(driverCache))
                .variables(Map.of("XDG_CONFIG_HOME", "/nonexistent"))
                // hits are expected, however busy the machine is
                .variables(Map.of("GRANARY_BUCKET_WAIT", "1m"))
                .variables(variables);
    }

    /** Starts {@code granary arguments} with these variables. */
    static GranaryProcess start(Map<String, String> variables, String... arguments)
            throws IOException {
        Path driverCache = Files.createTempDirectory("granary-it-pocl-");
        return new GranaryProcess(
                jvm(Main.class, driverCache, variables).record(arguments), driverCache);
    }

    /** Starts the command and waits for its end. */
    static Result run(Map<String, String> variables, String... arguments)
            throws IOException, InterruptedException {
        return start(variables, arguments).end();
    }

    /** Returns the process. */
    Process process() {
        return process.process();
    }

    /** Waits for the end of the process, and returns its result. */
    Result end() throws IOException, InterruptedException {
        ChildJvm.Result result = process.end();
        FileTrees.delete(driverCache);
        return new Result(result.exitCode(), result.out(), result.err());
    }
}
