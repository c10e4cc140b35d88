package dev.granary.s3.register;

/** The change of a head that a swap makes, derived from that head alone. */
public sealed interface Change {
    /** The head is replaced by that state. */
    record Next(Head head) implements Change {}

    /** The head has the change already. */
    record Nothing() implements Change {}

    /**
     * The change is not possible on this head.
     *
     * @param cause the cause, for people
     */
    record GiveUp(String cause) implements Change {}

    /** The only {@link Nothing}. */
    Change NOTHING = new Nothing();
}
