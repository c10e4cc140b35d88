package dev.granary.cache;

/** A source did not compile. The message tells what; the {@link #buildLog()} is the compiler's own words. */
public final class CompileException extends Exception {
    private static final long serialVersionUID = 1L;

    private final String buildLog;

    /** A failure with the compiler's output. */
    public CompileException(String message, String buildLog) {
        super(buildLog.isBlank() ? message : message + System.lineSeparator() + buildLog.strip());
        this.buildLog = buildLog;
    }

    /** What the compiler printed; may be empty. */
    public String buildLog() {
        return buildLog;
    }
}
