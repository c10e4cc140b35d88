package dev.granary.testing;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * A launcher of a main class of the test class path in its own JVM. All Java processes of tests are
 * started by it, with the flags that Granary's own launcher gives.
 */
public final class ChildJvm {
    /**
     * JVM flags of a short run: no C2 compiler, the serial collector, large pages on Linux, and no
     * verification of the classes, which javac has just made.
     */
    public static final List<String> SHORT_RUN = List.of(
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-XX:+IgnoreUnrecognizedVMOptions",
            "-XX:+UseTransparentHugePages",
            "-Xlog:pagesize=off",
            "-XX:+UnlockDiagnosticVMOptions",
            "-XX:-BytecodeVerificationRemote");

    private static final long LIMIT_MINUTES = 10;

    private final Class<?> main;
    private final List<String> flags = new ArrayList<>(
            List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=deny"));
    private final ProcessBuilder process = new ProcessBuilder();
    private List<Path> classPath = classPath();

    private ChildJvm(Class<?> main) {
        this.main = main;
    }

    /** Returns a launcher of {@code main} with the class path and environment of this process. */
    public static ChildJvm of(Class<?> main) {
        return new ChildJvm(main);
    }

    /** Returns the class path of the tests, as absolute paths. */
    public static List<Path> classPath() {
        String path = System.getProperty(
                "surefire.test.class.path", System.getProperty("java.class.path"));
        return Arrays.stream(path.split(File.pathSeparator, -1))
                .map(part -> Path.of(part).toAbsolutePath())
                .toList();
    }

    /** Adds the JVM flags of a {@linkplain #SHORT_RUN short run}. */
    public ChildJvm shortLived() {
        return flags(SHORT_RUN.toArray(String[]::new));
    }

    /** Adds JVM flags. Of two values of one flag the JVM takes the later one. */
    public ChildJvm flags(String... added) {
        flags.addAll(List.of(added));
        return this;
    }

    /** Reduces the class path to the parts that {@code included} selects. */
    public ChildJvm classPath(Predicate<Path> included) {
        classPath = classPath.stream().filter(included).toList();
        return this;
    }

    /** Sets the working directory. */
    public ChildJvm directory(Path directory) {
        process.directory(directory.toFile());
        return this;
    }

    /** Makes the error output part of standard output, in the order of the writes. */
    public ChildJvm mergeErrors() {
        process.redirectErrorStream(true);
        return this;
    }

    /** Sets environment variables. */
    public ChildJvm variables(Map<String, String> variables) {
        process.environment().putAll(variables);
        return this;
    }

    /** Removes the environment variables whose names start with one of {@code prefixes}. */
    public ChildJvm withoutVariables(String... prefixes) {
        process.environment().keySet().removeIf(name -> Arrays.stream(prefixes)
                .anyMatch(name::startsWith));
        return this;
    }

    /**
     * Starts the process. Its standard streams are pipes, except the error output, which is that of
     * the tests.
     */
    public Process start(String... arguments) throws IOException {
        return command(arguments).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    /** Starts the process and records its output. */
    public Recording record(String... arguments) throws IOException {
        Path out = Files.createTempFile("granary-child-", ".out");
        Path err = Files.createTempFile("granary-child-", ".err");
        Process started = command(arguments)
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        return new Recording(started, out, err);
    }

    /** Runs the process to its end. */
    public Result run(String... arguments) throws IOException, InterruptedException {
        return record(arguments).end();
    }

    /** Returns the words that start the process, for a script. */
    public List<String> words(String... arguments) {
        return List.copyOf(command(arguments).command());
    }

    private ProcessBuilder command(String... arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(flags);
        command.add("-cp");
        command.add(classPath.stream()
                .map(Path::toString)
                .collect(Collectors.joining(File.pathSeparator)));
        command.add(main.getName());
        command.addAll(List.of(arguments));
        return process.command(command);
    }

    /** A running process, and the files that receive its output. */
    public static final class Recording {
        private final Process process;
        private final Path out;
        private final Path err;

        private Recording(Process process, Path out, Path err) {
            this.process = process;
            this.out = out;
            this.err = err;
        }

        /** Returns the process. */
        public Process process() {
            return process;
        }

        /**
         * Waits for the end of the process. After ten minutes the process is killed, and the test
         * fails with its output.
         */
        public Result end() throws IOException, InterruptedException {
            boolean hasEnded = process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES);
            int exitCode = process.destroyForcibly().waitFor();
            Result result = new Result(exitCode, text(out), text(err));
            if (!hasEnded) {
                throw new AssertionError(
                        "the process did not end within " + LIMIT_MINUTES + " min: " + result);
            }
            return result;
        }

        /** Reads and deletes a file. A native library may write bytes that are not UTF-8. */
        private static String text(Path file) throws IOException {
            String text = new String(Files.readAllBytes(file), UTF_8);
            Files.delete(file);
            return text;
        }
    }

    /**
     * The end of a process.
     *
     * @param exitCode the exit code
     * @param out the text of standard output
     * @param err the text of standard error
     */
    public record Result(int exitCode, String out, String err) {
        /** Returns standard output if the exit code is 0, and fails otherwise. */
        public String output() {
            if (exitCode != 0) {
                throw new AssertionError("a child JVM failed: " + this);
            }
            return out;
        }

        /** Returns the lines of standard output if the exit code is 0, and fails otherwise. */
        public List<String> lines() {
            return output().lines().toList();
        }

        @Override
        public String toString() {
            return "exit code " + exitCode + "\n" + out + "\n" + err;
        }
    }
}
