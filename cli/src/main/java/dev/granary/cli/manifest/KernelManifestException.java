package dev.granary.cli.manifest;

/**
 * Thrown if a kernel manifest is invalid. The message contains the position, the error and its
 * remedy.
 */
public final class KernelManifestException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Creates an exception with a message for the user. */
    public KernelManifestException(String message) {
        super(message);
    }
}
