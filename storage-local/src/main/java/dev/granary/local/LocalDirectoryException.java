package dev.granary.local;

import java.io.IOException;

/**
 * Thrown if the configured directory of a local tier cannot be used. The message has the reason and
 * a remedy; nothing was written.
 */
public final class LocalDirectoryException extends IOException {
    private static final long serialVersionUID = 1L;

    public LocalDirectoryException(String message) {
        super(message);
    }

    public LocalDirectoryException(String message, Throwable cause) {
        super(message, cause);
    }
}
