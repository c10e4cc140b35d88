package dev.granary.benchmarks.local.workload;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.benchmarks.harness.Workspace;
import dev.granary.benchmarks.local.store.NativeLibraries;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The workspace of a local benchmark: directories by name, and JVMs with the flags that all
 * candidates need.
 */
public final class LocalWorkspace extends Workspace {
    private static final List<String> JVM_FLAGS = List.of(
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "--add-opens=java.base/java.nio=ALL-UNNAMED",
            "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
            "-Xmx1g",
            "-XX:MaxDirectMemorySize=4g");

    private LocalWorkspace(Path parent, PrintWriter progress) throws IOException {
        super(parent, "granary-bench-local-", progress);
    }

    /** Creates a directory under {@code parent}, which is created if it is missing. */
    public static LocalWorkspace in(Path parent, PrintWriter progress) throws IOException {
        LocalWorkspace made = new LocalWorkspace(parent, progress);
        NativeLibraries.unpackInto(made.directory("natives"));
        return made;
    }

    /** Returns the directory of that name, which is created if it is missing. */
    public Path directory(String name) throws IOException {
        return Files.createDirectories(directory().resolve(name));
    }

    /**
     * Writes all unwritten pages of the file system, so that the next round does not include the
     * writes of another candidate.
     */
    public void settle() throws IOException, InterruptedException {
        output("sync", "-f", directory().toString());
    }

    /** Returns the bytes that the file system has allocated for a directory. */
    public static long allocatedBytes(Path directory) throws IOException, InterruptedException {
        String line = output("du", "-B1", "-s", directory.toString());
        return Long.parseLong(line.substring(0, line.indexOf('\t')));
    }

    /** Starts a class with a main method in a new JVM. Its error output is written to a file. */
    public Process start(Class<?> main, String... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(JVM_FLAGS);
        command.addAll(List.of(
                "-Djava.io.tmpdir=" + directory("natives"),
                "-cp",
                System.getProperty("java.class.path"),
                main.getName(),
                directory("natives").toString()));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command)
                .redirectError(directory().resolve("errors").toFile())
                .start();
    }

    /** Returns the error output of the last process, to explain a failure. */
    public String errors() throws IOException {
        return Files.readString(directory().resolve("errors"), UTF_8);
    }

    private static String output(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        String said = new String(process.getInputStream().readAllBytes(), UTF_8);
        process.waitFor();
        return said;
    }
}
