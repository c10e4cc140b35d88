package dev.granary.benchmarks.bucket.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.benchmarks.harness.Workspace;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.PrintWriter;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The workspace of a bucket benchmark: paths by name, and the processes that it starts. */
public final class BucketWorkspace extends Workspace {
    /** The flags with which the launcher starts each JVM. */
    static final List<String> JVM_FLAGS =
            List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=deny");

    /** The flags with which the launcher starts a short-lived command. */
    public static final List<String> COMMAND_FLAGS =
            List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto");

    private static final Duration LONGEST_RUN = Duration.ofMinutes(10);
    private static final int TOLD_CHARACTERS = 2000;

    private final AtomicInteger processes = new AtomicInteger();
    private final AtomicInteger outputs = new AtomicInteger();

    private BucketWorkspace(Path parent, PrintWriter progress) throws IOException {
        super(parent, "granary-bench-bucket-", progress);
    }

    /** Creates a directory under {@code parent}, which is created if it is missing. */
    public static BucketWorkspace in(Path parent, PrintWriter progress) throws IOException {
        return new BucketWorkspace(parent, progress);
    }

    /** Returns the path of that name in the workspace; nothing is created. */
    public Path path(String name) {
        return directory().resolve(name);
    }

    /**
     * Returns the environment of this process without the settings of other buckets, with
     * {@code added} instead.
     */
    public Map<String, String> environment(Map<String, String> added) {
        Map<String, String> environment = new HashMap<>(System.getenv());
        environment
                .keySet()
                .removeIf(name -> name.startsWith("AWS_")
                        || name.startsWith("GRANARY_")
                        || name.startsWith("RCLONE_"));
        environment.put("XDG_CONFIG_HOME", path("no-configuration").toString());
        environment.put("AWS_EC2_METADATA_DISABLED", "true");
        environment.putAll(added);
        return environment;
    }

    /** Returns the command line of a JVM with the class path of this one. */
    public static List<String> java(List<String> flags, Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(JVM_FLAGS);
        command.addAll(flags);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(arguments));
        return command;
    }

    /**
     * A process of this run.
     *
     * @param process the process
     * @param errorOutput the file with its error output
     */
    public record Started(Process process, Path errorOutput) {
        /** Returns the end of its error output, to explain a failure. */
        public String errors() throws IOException {
            String all = Files.readString(errorOutput, UTF_8);
            return all.substring(Math.max(0, all.length() - TOLD_CHARACTERS)).strip();
        }
    }

    /** Starts a process with this environment only. */
    public Started start(List<String> command, Map<String, String> environment) throws IOException {
        return start(command, environment, Redirect.PIPE);
    }

    private Started start(List<String> command, Map<String, String> environment, Redirect output)
            throws IOException {
        Path errors = path("errors-" + processes.incrementAndGet());
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(directory().toFile())
                .redirectOutput(output)
                .redirectError(errors.toFile());
        builder.environment().clear();
        builder.environment().putAll(environment);
        return new Started(builder.start(), errors);
    }

    /**
     * The end of a process with exit code 0.
     *
     * @param seconds the time from before its start to after its end
     * @param output the text of its standard output
     */
    public record Ran(double seconds, String output) {}

    /**
     * Runs a program to its end.
     *
     * @throws IOException if the exit code is not 0, or the program runs for 10 minutes
     */
    public Ran run(List<String> command, Map<String, String> environment)
            throws IOException, InterruptedException {
        return run(command, environment, LONGEST_RUN);
    }

    Ran run(List<String> command, Map<String, String> environment, Duration longest)
            throws IOException, InterruptedException {
        // a file, since the end of a pipe has no limit of time
        Path outputFile = path("output-" + outputs.incrementAndGet());
        long start = System.nanoTime();
        Started started = start(command, environment, Redirect.to(outputFile.toFile()));
        Process process = started.process();
        try {
            process.getOutputStream().close();
            boolean isEnded = process.waitFor(longest.toNanos(), TimeUnit.NANOSECONDS);
            double seconds = (System.nanoTime() - start) / 1e9;
            String output = Files.readString(outputFile, UTF_8);
            if (!isEnded || process.exitValue() != 0) {
                throw new IOException(command.getFirst()
                        + (isEnded ? " failed: " : " has not ended in " + longest + ": ")
                        + started.errors() + " " + output.strip());
            }
            return new Ran(seconds, output);
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    /** Returns the path of a program on the PATH, or null if it is not installed. */
    public static @Nullable Path program(String name) {
        for (String folder :
                Objects.requireNonNullElse(System.getenv("PATH"), "").split(":")) {
            Path program = Path.of(folder.isEmpty() ? "." : folder, name);
            if (Files.isExecutable(program)) {
                return program;
            }
        }
        return null;
    }
}
