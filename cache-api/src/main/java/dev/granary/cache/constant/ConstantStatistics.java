package dev.granary.cache.constant;

/**
 * What a constant tensor cache has done and holds. The counters only grow.
 *
 * @param made tensors that were made
 * @param reused look-ups that found a tensor
 * @param waited those of them that waited until another thread had made it
 * @param notKept tensors that were made and not kept: the budget was used up or too small, or they were removed before they were there
 * @param evicted tensors that left for others
 * @param failed promises that ended without a tensor
 * @param tensors how many are cached
 * @param bytes how many bytes those have
 * @param promisedBytes how many bytes of the budget are reserved for tensors that are being made
 */
public record ConstantStatistics(
        long made, long reused, long waited, long notKept, long evicted, long failed, long tensors, long bytes, long promisedBytes) {
    /** Nothing done and nothing held. */
    public static final ConstantStatistics NOTHING = new ConstantStatistics(0, 0, 0, 0, 0, 0, 0, 0, 0);

    /** Both together. */
    public ConstantStatistics plus(ConstantStatistics other) {
        return new ConstantStatistics(made + other.made, reused + other.reused, waited + other.waited, notKept + other.notKept,
                evicted + other.evicted, failed + other.failed, tensors + other.tensors, bytes + other.bytes, promisedBytes + other.promisedBytes);
    }
}
