package dev.granary.cli.option;

/** The command could not do what it should; the message says what and what to do. */
public final class CommandFailedException extends Exception {
    private static final long serialVersionUID = 1L;

    public CommandFailedException(String message) {
        super(message);
    }
}
