package dev.granary.local.config;

/** The directory that a local tier was configured with cannot be used. The message says why and what to change; nothing was written. */
public final class LocalDirectoryException extends Exception {
    private static final long serialVersionUID = 1L;

    public LocalDirectoryException(String message) {
        super(message);
    }

    public LocalDirectoryException(String message, Throwable cause) {
        super(message, cause);
    }
}
