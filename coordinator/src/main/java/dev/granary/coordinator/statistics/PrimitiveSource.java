package dev.granary.coordinator.statistics;

/** Where a primitive came from, in the order in which the look-up asks. */
public enum PrimitiveSource {
    /** It was in this process already. */
    MEMORY,
    /** Restored from this machine's directory. */
    LOCAL,
    /** Restored from a bucket. */
    BUCKET,
    /** Nobody had it. */
    COMPILED
}
