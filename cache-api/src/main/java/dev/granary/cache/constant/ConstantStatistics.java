package dev.granary.cache.constant;

/**
 * The counters and the content of a constant tensor cache. The counters only grow.
 *
 * @param made tensors computed
 * @param reused lookups that found a tensor
 * @param waited those of them that waited for another thread's tensor
 * @param notKept tensors computed but not cached, because of the budget or because they were
 *     removed before their completion
 * @param evicted tensors evicted for others
 * @param failed promises that ended without a tensor
 * @param tensors the number of cached tensors
 * @param bytes the bytes of cached tensors
 * @param promisedBytes the bytes of the budget reserved for tensors being computed
 */
public record ConstantStatistics(
        long made,
        long reused,
        long waited,
        long notKept,
        long evicted,
        long failed,
        long tensors,
        long bytes,
        long promisedBytes) {
    /** Statistics at zero. */
    public static final ConstantStatistics NOTHING =
            new ConstantStatistics(0, 0, 0, 0, 0, 0, 0, 0, 0);

    /** Returns the sum of both. */
    public ConstantStatistics plus(ConstantStatistics other) {
        return new ConstantStatistics(
                made + other.made,
                reused + other.reused,
                waited + other.waited,
                notKept + other.notKept,
                evicted + other.evicted,
                failed + other.failed,
                tensors + other.tensors,
                bytes + other.bytes,
                promisedBytes + other.promisedBytes);
    }
}
