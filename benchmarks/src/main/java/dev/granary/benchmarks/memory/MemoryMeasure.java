package dev.granary.benchmarks.memory;

/** What can be measured, by its name on the command line. */
enum MemoryMeasure {
    HIT,
    CHURN,
    RATE,
    ONEDNN
}
