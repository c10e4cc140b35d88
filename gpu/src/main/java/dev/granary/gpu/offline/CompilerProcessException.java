package dev.granary.gpu.offline;

import dev.granary.cache.CompileException;

import java.time.Duration;

/**
 * Thrown if the process of a compiler ends or hangs, or returns binaries that cannot be for its
 * device.
 */
public final class CompilerProcessException extends Exception {
    private static final long serialVersionUID = 1L;

    private final Kind kind;

    /** The kind of failure. */
    public enum Kind {
        /** The process ended, or could not be started. */
        CRASHED,
        /** The process did not respond within the limit, and was killed. */
        TIMED_OUT,
        /** The binaries are for another device by their container, or malformed. */
        INCOMPATIBLE
    }

    /** Creates an exception with a message for the user. */
    public CompilerProcessException(Kind kind, String message) {
        super(message);
        this.kind = kind;
    }

    /** Returns the exception of a compiler that was killed at its limit. */
    public static CompilerProcessException overdue(Duration limit) {
        return new CompilerProcessException(
                Kind.TIMED_OUT,
                "the compiler did not end within " + limit.toSeconds()
                        + " s (--compile-limit) and was killed");
    }

    /** Returns the kind of failure. */
    public Kind kind() {
        return kind;
    }

    /** Returns the failure as that of an engine, with this exception as its cause. */
    public CompileException asCompileException() {
        CompileException failure = new CompileException(String.valueOf(getMessage()), "");
        failure.initCause(this);
        return failure;
    }
}
