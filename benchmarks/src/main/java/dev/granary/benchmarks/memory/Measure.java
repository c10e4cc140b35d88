package dev.granary.benchmarks.memory;

/** What can be measured, by its name on the command line. */
enum Measure {
    HIT,
    CHURN,
    RATE,
    ONEDNN
}
