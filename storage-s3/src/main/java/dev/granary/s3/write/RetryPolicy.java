package dev.granary.s3.write;

import dev.granary.s3.store.WriteResult;

import java.time.Duration;

/** A policy for responses that leave open whether a write took effect. */
public interface RetryPolicy {
    /**
     * Returns {@link WriteVerdict.Again}, {@link WriteVerdict.Inspect} or
     * {@link WriteVerdict.GivenUp}.
     *
     * @param response a failed precondition, a conflict, or an unknown outcome
     * @param soFar the attempts, with this response counted
     */
    WriteVerdict verdict(WriteResult response, WriteAttempts soFar);

    /**
     * Returns the policy of a write whose object only this writer creates, or can be recognised by
     * its content. The write is sent at most {@code attempts} times, and the object is inspected
     * after the last one or a failed precondition.
     *
     * @param pause the pause after the first attempt; a multiple of it follows each further one
     */
    static RetryPolicy upTo(int attempts, Duration pause) {
        return (response, soFar) ->
                response instanceof WriteResult.PreconditionFailed || soFar.sent() >= attempts
                        ? new WriteVerdict.Inspect()
                        : new WriteVerdict.Again(pause.multipliedBy(soFar.sent()));
    }
}
