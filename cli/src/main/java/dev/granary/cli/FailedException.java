package dev.granary.cli;

/** The command could not do what it should; the message says what and what to do. */
final class FailedException extends Exception {
    private static final long serialVersionUID = 1L;

    FailedException(String message) {
        super(message);
    }
}
