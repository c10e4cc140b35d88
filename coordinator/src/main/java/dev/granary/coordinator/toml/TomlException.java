package dev.granary.coordinator.toml;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * Thrown if a file is not TOML, or has other content than its reader expects. The message contains
 * the place, the error and its remedy, and no secrets.
 */
public final class TomlException extends Exception {
    private static final long serialVersionUID = 1L;

    public TomlException(String message) {
        super(message);
    }

    /**
     * Returns the exception for a file that cannot be read.
     *
     * @param kind the kind of file, such as {@code "manifest"}
     */
    public static TomlException unreadable(String kind, Path file, IOException cause) {
        return new TomlException(
                "The " + kind + " " + file + " cannot be read: " + reason(cause) + ".");
    }

    /** Returns the reason why a file cannot be read, without a full stop. */
    public static String reason(IOException cause) {
        return switch (cause) {
            case NoSuchFileException _ -> "there is no such file";
            case CharacterCodingException _ -> "it is not UTF-8 text";
            default -> cause.toString();
        };
    }
}
