package dev.granary.cli.compiler;

import dev.granary.cache.CompileException;

/**
 * Thrown if a compiler process ends or hangs during a request, or returns binaries that cannot be
 * for its device.
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

    CompilerProcessException(Kind kind, String message) {
        super(message);
        this.kind = kind;
    }

    /** Returns the kind of failure. */
    public Kind kind() {
        return kind;
    }

    /** Returns the failure as that of an engine, with this exception as its cause. */
    CompileException asCompileException() {
        CompileException failure = new CompileException(String.valueOf(getMessage()), "");
        failure.initCause(this);
        return failure;
    }
}
