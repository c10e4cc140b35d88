package dev.granary.s3.store;

/** The outcome of a write or a deletion. */
public sealed interface WriteResult {
    /**
     * It is done, by this request.
     *
     * @param etag the new version, unquoted; empty after a deletion
     */
    record Done(String etag) implements WriteResult {}

    /** The condition did not hold when the request was carried out: there is an object, or another version, or none. Nothing changed. */
    record PreconditionFailed() implements WriteResult {}

    /** Another request for this key was under way (409). Nothing is known to have changed; the same request may be sent again. */
    record Conflict() implements WriteResult {}

    /**
     * The store does not let us, or cannot (400, 403, 501, no such bucket). Nothing changed.
     *
     * @param failure why
     */
    record NotAllowed(StoreFailure failure) implements WriteResult {}

    /**
     * The request was never sent. Nothing changed.
     *
     * @param failure why
     */
    record NotSent(StoreFailure failure) implements WriteResult {}

    /**
     * It may be done or not, now or later: no answer came, or one that says nothing (timeout, reset, 5xx).
     *
     * @param failure what happened
     */
    record Unknown(StoreFailure failure) implements WriteResult {}

    /** The one {@link PreconditionFailed}. */
    WriteResult PRECONDITION_FAILED = new PreconditionFailed();

    /** The one {@link Conflict}. */
    WriteResult CONFLICT = new Conflict();

    /** The outcome of a write that ended in {@code failure}. */
    static WriteResult failed(StoreFailure failure) {
        return switch (failure.kind()) {
            case DENIED, CLOCK_SKEW, NO_BUCKET, WRONG_REGION, NOT_SUPPORTED, NO_MEMORY -> new NotAllowed(failure);
            case BUSY, SUSPENDED, CONFIGURATION -> new NotSent(failure);
            case THROTTLED, SERVER, UNREACHABLE, TLS, TIMEOUT, BROKEN -> new Unknown(failure);
        };
    }
}
