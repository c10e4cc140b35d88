/** Metrics of Granary in a Micrometer registry. */
module dev.granary.metrics {
    requires transitive dev.granary.coordinator;
    requires transitive micrometer.core;
    requires static org.jspecify;

    exports dev.granary.metrics;
}
