package dev.granary.cache;

/** Thrown when a driver rejects binaries or cannot use them. The caller compiles instead. */
public final class RestoreException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Creates an exception with the reason. */
    public RestoreException(String message) {
        super(message);
    }
}
