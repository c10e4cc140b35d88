package dev.granary.it.ship;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cli.Main;
import dev.granary.testing.ChildJvm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A shell that has {@code granary} on its PATH, as in an image or on a runner. */
final class CommandShell {
    private static final long LIMIT_MINUTES = 10;

    private final Path directory;
    private final Path bin;

    /** Creates a shell with a new working directory. */
    CommandShell(Path directory) throws IOException {
        this.directory = Files.createDirectories(directory);
        this.bin = Files.createDirectories(directory.resolve("bin"));
        List<String> command = ChildJvm.of(Main.class).shortLived().words();
        script("granary", "exec '" + String.join("' '", command) + "' \"$@\"");
    }

    /** The end of a process. */
    record Result(int exitCode, String out, String err) {
        @Override
        public String toString() {
            return "exit code " + exitCode + "\n" + out + "\n" + err;
        }
    }

    /** Returns the working directory. */
    Path directory() {
        return directory;
    }

    /** Puts a script onto the PATH, before the programs of the system. */
    void script(String name, String text) throws IOException {
        Path file = Files.writeString(bin.resolve(name), "#!/bin/sh\n" + text + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    /** Runs a program of the PATH to its end. */
    Result run(Map<String, String> variables, List<String> command)
            throws IOException, InterruptedException {
        Path out = Files.createTempFile(directory, "shell-", ".out");
        Path err = Files.createTempFile(directory, "shell-", ".err");
        Process process = process(variables, command)
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        boolean hasEnded = process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES);
        int exitCode = process.destroyForcibly().waitFor();
        Result result =
                new Result(exitCode, Files.readString(out, UTF_8), Files.readString(err, UTF_8));
        if (!hasEnded) {
            throw new AssertionError("not ended within " + LIMIT_MINUTES + " min: " + result);
        }
        return result;
    }

    /** Starts a program of the PATH, with the output of the tests. */
    Process start(Map<String, String> variables, List<String> command) throws IOException {
        return process(variables, command).inheritIO().start();
    }

    private ProcessBuilder process(Map<String, String> variables, List<String> command)
            throws IOException {
        List<String> words = new ArrayList<>();
        words.add("/usr/bin/env"); // takes the program from the PATH of the process
        words.addAll(command);
        ProcessBuilder process = new ProcessBuilder(words).directory(directory.toFile());
        Map<String, String> environment = process.environment();
        environment
                .keySet()
                .removeIf(name -> name.startsWith("GRANARY_") || name.startsWith("AWS_"));
        Map<String, String> own = new HashMap<>(Map.of(
                "PATH", bin + ":" + environment.get("PATH"),
                "XDG_CONFIG_HOME", "/nonexistent",
                "AWS_EC2_METADATA_DISABLED", "true",
                // hits are expected, however busy the machine is
                "GRANARY_BUCKET_WAIT", "1m",
                "POCL_CACHE_DIR", Files.createTempDirectory(directory, "pocl-").toString()));
        own.putAll(variables);
        environment.putAll(own);
        return process;
    }
}
