package dev.granary.benchmarks.local;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.benchmarks.harness.Workspace;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Workspace of a local benchmark: directories by name, and JVMs. */
final class LocalWorkspace extends Workspace {
    /** Creates a directory under {@code parent}, which is created if it is missing. */
    LocalWorkspace(Path parent, PrintWriter progress) throws IOException {
        super(parent, "granary-bench-local-", progress);
    }

    /** Returns the directory of that name, which is created if it is missing. */
    Path directory(String name) throws IOException {
        return Files.createDirectories(directory().resolve(name));
    }

    /** Writes what the file system has not written, so that no turn includes that of another. */
    void settle() throws IOException, InterruptedException {
        new ProcessBuilder("sync", "-f", directory().toString())
                .inheritIO()
                .start()
                .waitFor();
    }

    /** Starts a class with a main method in a new JVM. Its error output is written to a file. */
    Process start(Class<?> main, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.appendTo(
                        directory().resolve("errors").toFile()))
                .start();
    }

    /** Returns the next line of the output of a process. */
    String line(Process process) throws IOException {
        String line = process.inputReader(UTF_8).readLine();
        if (line == null) {
            throw new IOException("A process of the benchmark ended: "
                    + Files.readString(directory().resolve("errors"), UTF_8));
        }
        return line;
    }
}
