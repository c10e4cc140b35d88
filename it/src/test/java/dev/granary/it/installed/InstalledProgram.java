package dev.granary.it.installed;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.testing.ChildJvm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A program that a stranger starts: with no flags that Granary needs, no variables of Granary, and
 * the JDK of the tests as {@code java}.
 */
final class InstalledProgram {
    /** A build of the tree from an empty repository takes minutes. */
    private static final long LIMIT_MINUTES = 40;

    private final ProcessBuilder process;

    private InstalledProgram(ProcessBuilder process) {
        this.process = process;
    }

    /** The end of a program. */
    record Result(int exitCode, String out, String err) {
        @Override
        public String toString() {
            return "exit code " + exitCode + "\n" + out + "\n" + err;
        }
    }

    /** Returns a program with these words as its command line. */
    static InstalledProgram of(List<String> command) {
        ProcessBuilder process = new ProcessBuilder(command);
        Map<String, String> variables = process.environment();
        variables
                .keySet()
                .removeIf(name -> name.startsWith("GRANARY_")
                        || name.startsWith("AWS_")
                        || name.startsWith("MAVEN_"));
        String jdk = System.getProperty("java.home");
        variables.put("JAVA_HOME", jdk);
        variables.put("PATH", jdk + "/bin:" + variables.get("PATH"));
        variables.put("MAVEN_OPTS", String.join(" ", ChildJvm.SHORT_RUN));
        variables.put("XDG_CONFIG_HOME", "/nonexistent");
        variables.put("AWS_EC2_METADATA_DISABLED", "true");
        // hits are expected, however busy the machine is
        variables.put("GRANARY_BUCKET_WAIT", "1m");
        return new InstalledProgram(process);
    }

    /** Returns {@code java} with the flags of a short run, and these arguments. */
    static InstalledProgram java(String... arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ChildJvm.SHORT_RUN);
        command.addAll(List.of(arguments));
        return of(command);
    }

    /** Sets the working directory. */
    InstalledProgram directory(Path directory) {
        process.directory(directory.toFile());
        return this;
    }

    /** Sets environment variables. */
    InstalledProgram variables(Map<String, String> variables) {
        process.environment().putAll(variables);
        return this;
    }

    /** Starts the program with pipes; its error output is that of the tests. */
    Process start() throws IOException {
        return process.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    /** Runs the program to its end. */
    Result run() throws IOException, InterruptedException {
        Path out = Files.createTempFile("granary-installed-", ".out");
        Path err = Files.createTempFile("granary-installed-", ".err");
        Process started =
                process.redirectOutput(out.toFile()).redirectError(err.toFile()).start();
        boolean hasEnded = started.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES);
        int exitCode = started.destroyForcibly().waitFor();
        Result result = new Result(exitCode, text(out), text(err));
        if (!hasEnded) {
            throw new AssertionError("not ended within " + LIMIT_MINUTES + " min: " + result);
        }
        return result;
    }

    private static String text(Path file) throws IOException {
        String text = new String(Files.readAllBytes(file), UTF_8);
        Files.delete(file);
        return text;
    }
}
