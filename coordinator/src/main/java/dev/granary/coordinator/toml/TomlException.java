package dev.granary.coordinator.toml;

/** Thrown if a text is not TOML. The message has the cause and contains no secrets. */
public final class TomlException extends Exception {
    private static final long serialVersionUID = 1L;

    private final int line;
    private final int column;

    TomlException(int line, int column, String message) {
        super(message);
        this.line = line;
        this.column = column;
    }

    /** Returns the line of the mistake, counted from 1. */
    public int line() {
        return line;
    }

    /** Returns the column of the mistake, counted from 1. */
    public int column() {
        return column;
    }
}
