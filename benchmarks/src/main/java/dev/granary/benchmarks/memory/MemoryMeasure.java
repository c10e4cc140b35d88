package dev.granary.benchmarks.memory;

/** Measures of the memory benchmark, by their names on the command line. */
enum MemoryMeasure {
    HIT,
    CHURN,
    ONEDNN,
    EVENTS
}
