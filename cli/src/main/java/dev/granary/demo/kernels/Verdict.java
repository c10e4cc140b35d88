package dev.granary.demo.kernels;

/** Whether a device computed what the reference says. */
public sealed interface Verdict {
    /** Every result agrees with the reference within its tolerance. */
    record Right() implements Verdict {}

    /**
     * Some result does not.
     *
     * @param what the first difference: where, what was expected, what came
     */
    record Wrong(String what) implements Verdict {}
}
