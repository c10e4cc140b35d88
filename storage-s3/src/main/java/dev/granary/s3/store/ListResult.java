package dev.granary.s3.store;

/** The outcome of a listing. */
public sealed interface ListResult {
    /**
     * Every object was handed over.
     *
     * @param objects how many there were
     */
    record Complete(long objects) implements ListResult {}

    /**
     * The listing ended early; what was handed over is true.
     *
     * @param failure why
     */
    record Unavailable(StoreFailure failure) implements ListResult {}
}
