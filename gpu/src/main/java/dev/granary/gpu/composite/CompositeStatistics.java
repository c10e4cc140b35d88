package dev.granary.gpu.composite;

/**
 * What one {@link CompositeCache} has done up to a moment. Each successful call counts as one hit or one creation.
 *
 * @param hits primitives asked for by callers that were there already, or were being created for someone else
 * @param created primitives asked for by callers that had to be created
 * @param nestedHits like {@code hits}, asked for by the creation of another primitive
 * @param nestedCreated like {@code created}, asked for by the creation of another primitive
 * @param failed creations that failed, nested ones included; their waiters do not count
 * @param size how many primitives are kept
 * @param capacity how many may be kept
 */
public record CompositeStatistics(
        long hits, long created, long nestedHits, long nestedCreated, long failed, int size, int capacity) {}
