package dev.granary.cli.manifest;

/** A mistake in a manifest. The message says where, what, and what to do. */
public final class KernelManifestException extends Exception {
    private static final long serialVersionUID = 1L;

    /** A mistake, in a sentence for people. */
    public KernelManifestException(String message) {
        super(message);
    }
}
