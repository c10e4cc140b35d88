package dev.granary.benchmarks.bucket;

/** Measures of the bucket benchmark. */
enum BucketMeasure {
    /**
     * Filling a node, against the fastest way to move as many bytes, and against copying loose
     * objects.
     */
    WARM,
    /** A hit of an entry that lies alone, against the bare client. */
    LOOSE,
    /** HTTP clients under the SDK, and another SDK. */
    TRANSPORTS,
    /** A fleet that starts, on paper and simulated. */
    FLEET
}
