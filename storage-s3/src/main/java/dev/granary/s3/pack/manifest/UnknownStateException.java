package dev.granary.s3.pack.manifest;

import dev.granary.s3.store.StoreFailure;

/**
 * Thrown when the bucket does not report the state that an operation needs. Only
 * {@link PackManifestLog#isNewest} passes it on.
 */
public final class UnknownStateException extends Exception {
    private final transient StoreFailure failure;
    private final boolean mayHaveLanded;

    UnknownStateException(StoreFailure failure) {
        this(failure, false);
    }

    private UnknownStateException(StoreFailure failure, boolean mayHaveLanded) {
        super(failure.toString(), null, false, false);
        this.failure = failure;
        this.mayHaveLanded = mayHaveLanded;
    }

    /** Returns the exception of a write that may have been carried out, or may still be. */
    static UnknownStateException afterWrite(StoreFailure failure) {
        return new UnknownStateException(failure, true);
    }

    public StoreFailure failure() {
        return failure;
    }

    boolean mayHaveLanded() {
        return mayHaveLanded;
    }
}
