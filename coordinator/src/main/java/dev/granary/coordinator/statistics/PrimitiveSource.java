package dev.granary.coordinator.statistics;

/** Source of a primitive, in lookup order. */
public enum PrimitiveSource {
    /** The memory of this process. */
    MEMORY,
    /** The lookup of another thread, which this one waited for. */
    JOINED,
    /** The local tier: restored from the directory of this machine. */
    LOCAL,
    /** The bucket tier: restored from a bucket or a plugged layer. */
    BUCKET,
    /** The compiler: no tier had it. */
    COMPILED
}
