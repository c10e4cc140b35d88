package dev.granary.cache;

/** Thrown when a driver rejects binaries or cannot use them. The caller compiles instead. */
public final class RestoreException extends Exception {
    private static final long serialVersionUID = 1L;

    private final boolean isMissingKernel;

    /** Creates an exception with the reason. */
    public RestoreException(String message) {
        this(message, false);
    }

    private RestoreException(String message, boolean isMissingKernel) {
        super(message);
        this.isMissingKernel = isMissingKernel;
    }

    /**
     * Returns an exception for binaries that the driver accepts, without a kernel that the
     * descriptor requires.
     */
    public static RestoreException missingKernel(String message) {
        return new RestoreException(message, true);
    }

    /**
     * Returns true if only a required kernel is missing. Either the binaries are incomplete, or the
     * descriptor requires a kernel that its source does not have; compiling shows which.
     */
    public boolean isMissingKernel() {
        return isMissingKernel;
    }
}
