package dev.granary.cache;

import java.util.List;
import java.util.Locale;

/** Thrown when a source does not compile. The {@link #buildLog()} is the compiler's output. */
public final class CompileException extends Exception {
    private static final long serialVersionUID = 1L;

    private final String reason;
    private final String buildLog;

    /** Creates an exception whose message ends with the first error of the compiler's output. */
    public CompileException(String message, String buildLog) {
        super(buildLog.isBlank() ? message : message + ": " + firstError(buildLog));
        this.reason = message;
        this.buildLog = buildLog;
    }

    private static String firstError(String buildLog) {
        List<String> lines = buildLog.lines()
                .map(String::strip)
                .filter(line -> !line.isEmpty())
                .toList();
        return lines.stream()
                .filter(line -> line.toLowerCase(Locale.ROOT).contains("error"))
                .findFirst()
                .orElse(lines.getFirst());
    }

    /** Returns the message without an error of the compiler's output. */
    public String reason() {
        return reason;
    }

    /** Returns the compiler's output; may be empty. */
    public String buildLog() {
        return buildLog;
    }
}
