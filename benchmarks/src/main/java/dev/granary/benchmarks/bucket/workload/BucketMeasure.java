package dev.granary.benchmarks.bucket.workload;

/** Measures of the bucket benchmark. */
public enum BucketMeasure {
    /**
     * The time to fill a node, against the fastest way to move as many bytes, and against copies of
     * unpacked entries.
     */
    WARM,
    /** A hit of an unpacked entry, against the bare client. */
    LOOSE,
    /** HTTP clients of the SDK, and another SDK. */
    TRANSPORTS,
    /** The start of a fleet, calculated and simulated. */
    FLEET
}
