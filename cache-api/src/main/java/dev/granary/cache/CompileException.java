package dev.granary.cache;

/** Thrown when a source does not compile. The {@link #buildLog()} is the compiler's output. */
public final class CompileException extends Exception {
    private static final long serialVersionUID = 1L;

    private final String buildLog;

    /** Creates an exception whose message is followed by the compiler's output. */
    public CompileException(String message, String buildLog) {
        super(buildLog.isBlank() ? message : message + System.lineSeparator() + buildLog.strip());
        this.buildLog = buildLog;
    }

    /** Returns the compiler's output; may be empty. */
    public String buildLog() {
        return buildLog;
    }
}
