package dev.granary.coordinator.transfer;

/**
 * Thrown if a directory is not the expected tree. The message names the directory and what to do.
 */
public final class TreeException extends Exception {
    private static final long serialVersionUID = 1L;

    TreeException(String message) {
        super(message);
    }
}
