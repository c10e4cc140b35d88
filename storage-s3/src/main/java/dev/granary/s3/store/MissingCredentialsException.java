package dev.granary.s3.store;

/**
 * Thrown if a transport finds no credentials when it signs a request; reported as
 * {@link StoreFailure.Kind#DENIED}.
 */
public final class MissingCredentialsException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /**
     * Creates the exception; {@code search} is suppressed, since some clients report a cause
     * instead of the exception.
     */
    public MissingCredentialsException(Throwable search) {
        super("no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or"
                + " name a profile by AWS_PROFILE");
        addSuppressed(search);
    }
}
