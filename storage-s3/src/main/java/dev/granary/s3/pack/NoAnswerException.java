package dev.granary.s3.pack;

import dev.granary.s3.store.StoreFailure;

/** The bucket did not say what was needed; ends a method of {@link PackManifestLog} and never leaves that class. */
final class NoAnswerException extends Exception {
    private final transient StoreFailure failure;
    private final boolean mayHaveLanded;

    NoAnswerException(StoreFailure failure) {
        this(failure, false);
    }

    private NoAnswerException(StoreFailure failure, boolean mayHaveLanded) {
        super(failure.toString(), null, false, false);
        this.failure = failure;
        this.mayHaveLanded = mayHaveLanded;
    }

    /** The same, after a write that may have been carried out, or may still be. */
    static NoAnswerException afterWrite(StoreFailure failure) {
        return new NoAnswerException(failure, true);
    }

    StoreFailure failure() {
        return failure;
    }

    boolean mayHaveLanded() {
        return mayHaveLanded;
    }
}
