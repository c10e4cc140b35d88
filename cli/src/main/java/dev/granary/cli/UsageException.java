package dev.granary.cli;

/** The command was called in a way that cannot work. */
final class UsageException extends Exception {
    private static final long serialVersionUID = 1L;

    UsageException(String message) {
        super(message);
    }
}
