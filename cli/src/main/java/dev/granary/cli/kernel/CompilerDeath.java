package dev.granary.cli.kernel;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Description of the end of a compiler process, from its exit code and last output. */
final class CompilerDeath {
    private static final int SIGNAL_BASE = 128;
    private static final int MAX_SIGNAL = 64;
    private static final int SIGKILL = 9;
    private static final Map<Integer, String> SIGNALS = Map.of(
            4, "SIGILL", 6, "SIGABRT", 7, "SIGBUS", 8, "SIGFPE", SIGKILL, "SIGKILL", 11, "SIGSEGV",
            15, "SIGTERM");

    private CompilerDeath() {}

    /**
     * Returns one line with the cause.
     *
     * @param exitCode the exit code; 128 more than the signal if one ended the process
     */
    static String cause(int exitCode, List<String> lines) {
        int signal = exitCode - SIGNAL_BASE;
        if (signal == SIGKILL) {
            return "the compiler process was killed by signal 9 (SIGKILL), as the system does when"
                    + " memory is short; if so, use fewer --jobs";
        }
        String end = signal > 0 && signal <= MAX_SIGNAL
                ? "the compiler process was killed by signal " + signal
                        + (SIGNALS.containsKey(signal) ? " (" + SIGNALS.get(signal) + ")" : "")
                : "the compiler process ended with exit code " + exitCode;
        return jvmCrash(lines)
                .map(crash -> "the compiler crashed: " + crash)
                .orElseGet(() ->
                        lines.isEmpty() ? end : end + ": " + lines.getLast().strip());
    }

    /** Returns signal and place of a crash that the JVM has reported; empty if it has not. */
    private static Optional<String> jvmCrash(List<String> lines) {
        Optional<String> signal =
                lines.stream().filter(line -> line.startsWith("#  SIG")).findFirst();
        Optional<String> frame = lines.stream()
                .filter(line -> line.matches("# [CVJjv]  ?\\[?.+"))
                .findFirst();
        return signal.map(
                line -> text(line) + frame.map(where -> ", in " + text(where)).orElse(""));
    }

    private static String text(String line) {
        return line.substring(1).strip().replaceAll("\\s+", " ");
    }
}
