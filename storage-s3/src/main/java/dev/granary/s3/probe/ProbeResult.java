package dev.granary.s3.probe;

import dev.granary.cache.CheckResult;
import dev.granary.s3.store.StoreFailure;

import java.util.List;

/** Result of a {@link CapabilityProbe}. */
sealed interface ProbeResult {
    /** Returns the results of the completed steps, in order. */
    List<CheckResult> results();

    /**
     * The probe has ended normally.
     *
     * @param writes the conditional writes that the server supports
     * @param deletion the support of conditional deletions
     * @param serverMillis time of the probe by the server's clock, in milliseconds since 1970; 0 if
     *     it sent no date
     * @param results the results of all steps
     */
    record Probed(
            ConditionalWriteSupport writes,
            ConditionalDeleteSupport deletion,
            long serverMillis,
            List<CheckResult> results)
            implements ProbeResult {}

    /**
     * Writes are refused, or these requests are; the capabilities are unknown.
     *
     * @param failure the refusal
     * @param results the results of the steps before
     */
    record NotAllowed(StoreFailure failure, List<CheckResult> results) implements ProbeResult {}

    /**
     * The server failed or did not respond; the capabilities are unknown.
     *
     * @param failure the last failure
     * @param results the results of the steps before
     */
    record Unavailable(StoreFailure failure, List<CheckResult> results) implements ProbeResult {}
}
