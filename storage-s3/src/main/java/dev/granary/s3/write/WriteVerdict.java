package dev.granary.s3.write;

import dev.granary.s3.store.StoreFailure;

import java.time.Duration;

/** The verdict on a write after the response to one of its {@linkplain WriteAttempts attempts}. */
public sealed interface WriteVerdict {
    /**
     * The same request is sent again.
     *
     * @param pause the time to wait before that
     */
    record Again(Duration pause) implements WriteVerdict {}

    /** A verdict after which the request is not sent again. */
    sealed interface Ended extends WriteVerdict {}

    /**
     * The response shows that the object is this writer's.
     *
     * @param etag its version, unquoted
     */
    record Own(String etag) implements Ended {}

    /**
     * Only the object in the bucket shows whether it is this writer's. It exists or has changed, or
     * the write is still ambiguous after the last attempt.
     */
    record Inspect() implements Ended {}

    /**
     * The write ends without success; an {@linkplain WriteAttempts#unanswered earlier attempt} may
     * have taken effect.
     *
     * @param failure the cause
     */
    record GivenUp(StoreFailure failure) implements Ended {}

    /**
     * The store refuses the request; an {@linkplain WriteAttempts#unanswered earlier attempt} may
     * have taken effect.
     *
     * @param failure the cause
     */
    record Refused(StoreFailure failure) implements Ended {}
}
