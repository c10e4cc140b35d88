package dev.granary.coordinator.transfer;

/**
 * Thrown if a directory is not the expected tree, or if a file in one of its entries is too large
 * or malformed. The message names the directory and the remedy, or the file and its defect.
 */
public final class TreeException extends Exception {
    private static final long serialVersionUID = 1L;

    TreeException(String message) {
        super(message);
    }
}
