package dev.granary.s3.probe;

import dev.granary.cache.support.CheckResult;
import dev.granary.s3.store.StoreFailure;

import java.util.List;

/** Result of a {@link CapabilityProbe}. */
sealed interface ProbeResult {
    /** Returns the results of the completed steps, in order. */
    List<CheckResult> results();

    /**
     * The probe has ended normally.
     *
     * @param verdict the capabilities of the server
     * @param serverMillis time of the probe by the server's clock, in milliseconds since 1970; 0 if
     *     it sent no date
     * @param results the results of all steps
     */
    record Probed(CapabilityMarker.Verdict verdict, long serverMillis, List<CheckResult> results)
            implements ProbeResult {}

    /**
     * The server refused requests, failed, or did not respond; the capabilities are unknown.
     *
     * @param failure the last failure
     * @param results the results of the steps before
     */
    record Stopped(StoreFailure failure, List<CheckResult> results) implements ProbeResult {}
}
