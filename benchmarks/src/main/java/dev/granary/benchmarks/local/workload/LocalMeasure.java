package dev.granary.benchmarks.local.workload;

/** Measures of the local benchmark, each a section of the output. */
public enum LocalMeasure {
    /** Lookups: one thread, two threads, two processes. */
    GET,
    /** Puts without a sync. */
    PUT,
    /** Puts into a full store. */
    EVICT,
    /** Opening: a large store in a warm process, and the first use in a new process. */
    OPEN,
    /** A lookup, against the load of the same kernel by the driver. */
    DRIVER
}
