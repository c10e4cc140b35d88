package dev.granary.benchmarks.local;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.benchmarks.harness.FileTrees;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The directory that a run writes in, which goes with it, also when the run is interrupted; and what a run says meanwhile. */
final class LocalWorkspace implements AutoCloseable {
    private static final List<String> JVM_FLAGS = List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
            "--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
            "-Xmx1g", "-XX:MaxDirectMemorySize=4g");

    private static final int DELETE_ATTEMPTS = 20;
    private static final long DELETE_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Path directory;
    private final PrintWriter progress;
    private final Thread hook = new Thread(this::deleteQuietly);

    private LocalWorkspace(Path directory, PrintWriter progress) {
        this.directory = directory;
        this.progress = progress;
    }

    /** A new directory under {@code parent}, which is made where it is missing. */
    static LocalWorkspace in(Path parent, PrintWriter progress) throws IOException {
        Files.createDirectories(parent);
        LocalWorkspace made = new LocalWorkspace(Files.createTempDirectory(parent, "granary-bench-local-").toAbsolutePath(), progress);
        Runtime.getRuntime().addShutdownHook(made.hook);
        NativeLibraries.unpackInto(made.directory("natives"));
        return made;
    }

    /** A directory of that name, made where it is missing. */
    Path directory(String name) throws IOException {
        return Files.createDirectories(directory.resolve(name));
    }

    /** Tells the person in front what is going on. */
    void say(String what) {
        progress.println(what + " ...");
        progress.flush();
    }

    /** Has the system write what is unwritten, so that nobody pays in the next round for what another candidate wrote. */
    void settle() throws IOException, InterruptedException {
        output("sync", "-f", directory.toString());
    }

    /** The bytes that the file system has allocated for a directory. */
    static long allocatedBytes(Path directory) throws IOException, InterruptedException {
        String line = output("du", "-B1", "-s", directory.toString());
        return Long.parseLong(line.substring(0, line.indexOf('\t')));
    }

    /** Starts a class with a main method in a new JVM; what it says on its error output is not seen. */
    Process start(Class<?> main, String... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(JVM_FLAGS);
        command.addAll(List.of("-Djava.io.tmpdir=" + directory("natives"), "-cp", System.getProperty("java.class.path"), main.getName(),
                directory("natives").toString()));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command).redirectError(directory.resolve("errors").toFile()).start();
    }

    /** What the last process said on its error output, to explain a failure. */
    String errors() throws IOException {
        return Files.readString(directory.resolve("errors"), UTF_8);
    }

    /** Deletes all at once, at the end: for a while after many files were deleted, some file systems create others slowly. */
    @Override
    public void close() throws IOException {
        say("deleting what was written");
        FileTrees.delete(directory);
        Runtime.getRuntime().removeShutdownHook(hook);
    }

    /** The process ends in the middle of a measure, whose threads may still write. */
    private void deleteQuietly() {
        for (int attempt = 1; attempt <= DELETE_ATTEMPTS && Files.exists(directory); attempt++) {
            try {
                FileTrees.delete(directory);
            } catch (IOException e) {
                LockSupport.parkNanos(DELETE_PAUSE_NANOS);
            }
        }
        if (Files.exists(directory)) {
            progress.println("not deleted: " + directory);
        }
    }

    private static String output(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String said = new String(process.getInputStream().readAllBytes(), UTF_8);
        process.waitFor();
        return said;
    }
}
