package dev.granary.coordinator.toml;

/** A text that is not TOML. The message says why, and shows nothing that is secret. */
public final class TomlException extends Exception {
    private static final long serialVersionUID = 1L;

    private final int line;
    private final int column;

    TomlException(int line, int column, String message) {
        super(message);
        this.line = line;
        this.column = column;
    }

    /** The line of the mistake, from 1. */
    public int line() {
        return line;
    }

    /** The column of the mistake, from 1. */
    public int column() {
        return column;
    }
}
