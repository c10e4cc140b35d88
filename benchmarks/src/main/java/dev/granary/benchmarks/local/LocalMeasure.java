package dev.granary.benchmarks.local;

/** Measures of the local benchmark, each a section of the output. */
enum LocalMeasure {
    /** Look-ups: one thread, two threads, two processes. */
    GET,
    /** Stores without a sync. */
    PUT,
    /** Stores into a full store. */
    EVICT,
    /** Opening: a large store in a warm process, and the first use in a new process. */
    OPEN,
    /** A look-up against what the driver needs to load the same kernel. */
    DRIVER
}
