package dev.granary.s3.store;

import java.util.Optional;

/** Result of a write or a deletion. */
public sealed interface WriteResult {
    /**
     * This request succeeded.
     *
     * @param etag the new version, unquoted; empty after a deletion
     */
    record Done(String etag) implements WriteResult {}

    /**
     * The condition did not hold: the object exists, has another version, or is absent. Nothing
     * changed.
     */
    record PreconditionFailed() implements WriteResult {}

    /**
     * Another request for this key was in progress (409). No change is known; the same request may
     * be retried.
     */
    record Conflict() implements WriteResult {}

    /**
     * The store refuses the request (400, 403, 413, 501, no such bucket). Nothing changed.
     *
     * @param failure the cause
     */
    record NotAllowed(StoreFailure failure) implements WriteResult {}

    /**
     * The request was not sent. Nothing changed.
     *
     * @param failure the cause
     */
    record NotSent(StoreFailure failure) implements WriteResult {}

    /**
     * The write is ambiguous and may still take effect later: no response, or an inconclusive one
     * (timeout, reset, 5xx).
     *
     * @param failure the cause
     */
    record Unknown(StoreFailure failure) implements WriteResult {}

    /** The only {@link PreconditionFailed}. */
    WriteResult PRECONDITION_FAILED = new PreconditionFailed();

    /** The only {@link Conflict}. */
    WriteResult CONFLICT = new Conflict();

    /** Returns the failure of a request; empty if the store has answered. */
    static Optional<StoreFailure> failureOf(WriteResult result) {
        return switch (result) {
            case Unknown lost -> Optional.of(lost.failure);
            case NotSent unsent -> Optional.of(unsent.failure);
            case NotAllowed refused -> Optional.of(refused.failure);
            case Done _, PreconditionFailed _, Conflict _ -> Optional.empty();
        };
    }

    /** Returns the result of a write that ended with {@code failure}. */
    static WriteResult failed(StoreFailure failure) {
        if (failure.isTransient()) {
            return new Unknown(failure);
        }
        return failure.isUnsent() ? new NotSent(failure) : new NotAllowed(failure);
    }
}
