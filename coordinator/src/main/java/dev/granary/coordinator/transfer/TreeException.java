package dev.granary.coordinator.transfer;

/** A directory is not the tree that it should be; the message says which and what to do. */
public final class TreeException extends Exception {
    private static final long serialVersionUID = 1L;

    TreeException(String message) {
        super(message);
    }
}
