package dev.granary.cli.manifest;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * Thrown if a kernel manifest or plan file is invalid. The message contains the position, the error
 * and its remedy.
 */
public final class KernelManifestException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Creates an exception with a message for the user. */
    public KernelManifestException(String message) {
        super(message);
    }

    /**
     * Returns the exception for a file that cannot be read.
     *
     * @param kind the kind of file, such as {@code "manifest"}
     */
    public static KernelManifestException unreadable(String kind, Path file, IOException cause) {
        return new KernelManifestException(
                "The " + kind + " " + file + " cannot be read: " + reason(cause) + ".");
    }

    static String reason(IOException cause) {
        return switch (cause) {
            case NoSuchFileException _ -> "there is no such file";
            case CharacterCodingException _ -> "it is not UTF-8 text";
            default -> cause.toString();
        };
    }
}
