package dev.granary.s3.pack;

import dev.granary.s3.store.Failure;

/** The bucket did not say what was needed; ends a method of {@link ManifestLog} and never leaves that class. */
final class NoAnswer extends Exception {
    private final transient Failure failure;
    private final boolean mayHaveLanded;

    NoAnswer(Failure failure) {
        this(failure, false);
    }

    private NoAnswer(Failure failure, boolean mayHaveLanded) {
        super(failure.toString(), null, false, false);
        this.failure = failure;
        this.mayHaveLanded = mayHaveLanded;
    }

    /** The same, after a write that may have been carried out, or may still be. */
    static NoAnswer afterWrite(Failure failure) {
        return new NoAnswer(failure, true);
    }

    Failure failure() {
        return failure;
    }

    boolean mayHaveLanded() {
        return mayHaveLanded;
    }
}
