package dev.granary.s3.store;

/** Nobody said who asks: found out by a transport when it signs a request, and a {@link StoreFailure.Kind#DENIED} for its caller. */
public final class MissingCredentialsException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** With what the search for credentials said: suppressed, since clients are known that pass on the cause instead of the exception. */
    public MissingCredentialsException(Throwable search) {
        super("no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile by AWS_PROFILE");
        addSuppressed(search);
    }
}
