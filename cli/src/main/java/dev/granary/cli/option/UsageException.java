package dev.granary.cli.option;

/** Thrown if the arguments of a command are invalid. */
public final class UsageException extends Exception {
    private static final long serialVersionUID = 1L;

    public UsageException(String message) {
        super(message);
    }
}
