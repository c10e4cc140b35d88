package dev.granary.s3.probe;

import dev.granary.s3.store.StoreFailure;
import java.util.List;

/** The outcome of a {@link CapabilityProbe}. */
sealed interface ProbeResult {
    /** What each step that was done found, in their order. */
    List<BucketFinding> findings();

    /**
     * The server was tried out.
     *
     * @param writes which conditions on writes it keeps
     * @param deletion whether it keeps the condition on a deletion
     * @param serverMillis when that was, in milliseconds since 1970 by the server's clock; 0 where it does not tell
     * @param findings what each step found
     */
    record Probed(ConditionalWriteSupport writes, ConditionalDeleteSupport deletion, long serverMillis, List<BucketFinding> findings) implements ProbeResult {}

    /**
     * Nothing may be written, or not in this way: nothing is known of conditions.
     *
     * @param failure the refusal
     * @param findings what the steps before it found
     */
    record NotAllowed(StoreFailure failure, List<BucketFinding> findings) implements ProbeResult {}

    /**
     * The server fell silent, or failed: nothing is known of conditions.
     *
     * @param failure the last of its failures
     * @param findings what the steps before it found
     */
    record Unavailable(StoreFailure failure, List<BucketFinding> findings) implements ProbeResult {}
}
