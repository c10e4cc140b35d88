package dev.granary.s3.store;

import org.jspecify.annotations.Nullable;

/**
 * Thrown if a transport finds no credentials when it signs a request; reported as
 * {@link StoreFailure.Kind#DENIED}.
 */
public final class MissingCredentialsException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /**
     * Creates the exception; {@code last} is suppressed, since some clients report a cause instead
     * of the exception.
     *
     * @param causes the failures of configured sources; empty if none is configured
     * @param last the exception of the last source
     */
    public MissingCredentialsException(String causes, @Nullable Throwable last) {
        super("no credentials were found: "
                + (causes.isEmpty()
                        ? "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile by"
                                + " AWS_PROFILE; a public bucket needs access=read and"
                                + " credentials=none"
                        : causes));
        if (last != null) {
            addSuppressed(last);
        }
    }
}
