package dev.granary.cli.option;

/** The command was called in a way that cannot work. */
public final class UsageException extends Exception {
    private static final long serialVersionUID = 1L;

    public UsageException(String message) {
        super(message);
    }
}
