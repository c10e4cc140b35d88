package dev.granary.s3.register;

/** The outcome of a {@linkplain Register#swap swap}. */
public sealed interface SwapResult {
    /**
     * The head has the change, made by this swap or found there.
     *
     * @param now the head with it
     * @param isOwn true if the last request of this swap made it
     */
    record Done(Register.Stored now, boolean isOwn) implements SwapResult {}

    /**
     * The change is not possible on this head, which does not have it.
     *
     * @param seen the head
     * @param cause the cause, for people
     */
    record GaveUp(Register.Stored seen, String cause) implements SwapResult {}

    /**
     * The head does not have the change, as far as is known.
     *
     * @param cause the cause, for people
     */
    record Failed(String cause) implements SwapResult {}

    /**
     * A request without a response may have made the change.
     *
     * @param cause the cause, for people
     */
    record Unknown(String cause) implements SwapResult {}
}
