package dev.granary.gpu.tool;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The result of running a compiler as a process.
 *
 * @param exitCode the exit code; 0 is success
 * @param output the text of standard output and standard error together
 */
public record ToolRun(int exitCode, String output) {
    /** The default limit of a compile. */
    public static final Duration USUAL_LIMIT = Duration.ofMinutes(10);

    /**
     * The variables by which clang finds other headers, or gets other options. No id has them, so
     * compilers run without them.
     */
    private static final Set<String> COMPILER_VARIABLES = Set.of(
            "CPATH",
            "C_INCLUDE_PATH",
            "CPLUS_INCLUDE_PATH",
            "OBJC_INCLUDE_PATH",
            "CCC_OVERRIDE_OPTIONS",
            "COMPILER_PATH",
            "CLANG_CONFIG_FILE_SYSTEM_DIR",
            "CLANG_CONFIG_FILE_USER_DIR");

    /** Added by Java to the number of a signal, for the exit code of a process that it ended. */
    private static final int SIGNAL_BASE = 128;

    private static final int LAST_SIGNAL = 31;

    /** Thrown if a compiler did not end within its limit, and was killed. */
    public static final class OverdueException extends IOException {
        private static final long serialVersionUID = 1L;

        OverdueException(String message) {
            super(message);
        }
    }

    /**
     * Runs a compiler to its end, without environment variables that change what it compiles and
     * that are not in ids. At the limit, and if the thread is interrupted, the process is killed.
     *
     * @param directory the working directory, in which the output is recorded meanwhile
     * @throws OverdueException if the process was killed at the limit
     * @throws IOException if the process cannot be started, or was killed by an interrupt
     */
    public static ToolRun of(List<String> command, Path directory, Duration limit)
            throws IOException {
        Path recorded = Files.createTempFile(directory, "compiler", ".out");
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().keySet().removeAll(COMPILER_VARIABLES);
        Process process = builder.directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(recorded.toFile())
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .start();
        try {
            if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
                throw new OverdueException(
                        command.getFirst() + " did not end within " + limit.toSeconds() + " s");
            }
            String output = new String(Files.readAllBytes(recorded), UTF_8);
            return new ToolRun(process.exitValue(), output.strip());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(command.getFirst() + " was interrupted", e);
        } finally {
            process.destroyForcibly();
        }
    }

    /** Returns true if the process ended with the exit code of success. */
    public boolean isSuccess() {
        return exitCode == 0;
    }

    /** Returns the signal that ended the process; empty if the process exited. */
    public OptionalInt signal() {
        int signal = exitCode - SIGNAL_BASE;
        return signal > 0 && signal <= LAST_SIGNAL ? OptionalInt.of(signal) : OptionalInt.empty();
    }
}
