package dev.granary.cache;

/** A driver refused binaries, or there is no way to use them. The caller compiles instead. */
public final class RestoreException extends Exception {
    private static final long serialVersionUID = 1L;

    /** A refusal, with the reason. */
    public RestoreException(String message) {
        super(message);
    }
}
