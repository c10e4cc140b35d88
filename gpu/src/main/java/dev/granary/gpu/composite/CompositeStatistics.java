package dev.granary.gpu.composite;

/**
 * Counters of a {@link CompositeCache} at one moment. Each successful call counts as one hit or one
 * creation.
 *
 * @param hits callers' requests for primitives that were cached, or being created for another
 *     caller
 * @param created callers' requests that created the primitive
 * @param nestedHits like {@code hits}, for requests by the creation of another primitive
 * @param nestedCreated like {@code created}, for requests by the creation of another primitive
 * @param failed failed creations, including nested ones, without their waiters
 * @param size the number of cached primitives
 * @param capacity the maximum number of cached primitives
 */
public record CompositeStatistics(
        long hits,
        long created,
        long nestedHits,
        long nestedCreated,
        long failed,
        int size,
        int capacity) {}
