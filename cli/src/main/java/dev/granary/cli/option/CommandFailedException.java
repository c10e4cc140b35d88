package dev.granary.cli.option;

/** Thrown if a command fails. The message contains the failure and its remedy. */
public final class CommandFailedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public CommandFailedException(String message) {
        super(message);
    }
}
