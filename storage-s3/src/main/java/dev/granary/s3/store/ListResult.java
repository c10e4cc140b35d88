package dev.granary.s3.store;

/** Result of a listing. */
public sealed interface ListResult {
    /**
     * All objects were passed on.
     *
     * @param objects their number
     */
    record Complete(long objects) implements ListResult {}

    /**
     * The listing ended early; the objects passed on are correct.
     *
     * @param failure the cause
     */
    record Unavailable(StoreFailure failure) implements ListResult {}
}
