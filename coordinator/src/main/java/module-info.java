/** Granary: the composed tiers, lookups through them, and the configuration. */
module dev.granary.coordinator {
    requires transitive dev.granary.cache;
    requires transitive dev.granary.gpu;
    requires dev.granary.local;
    requires dev.granary.s3;
    requires jdk.jfr;
    requires org.slf4j;
    requires org.tomlj;

    exports dev.granary.coordinator;
    exports dev.granary.coordinator.config;
    exports dev.granary.coordinator.event;
    exports dev.granary.coordinator.lookup to
            dev.granary.cli;
    exports dev.granary.coordinator.recording to
            dev.granary.cli;
    exports dev.granary.coordinator.machine to
            dev.granary.cli;
    exports dev.granary.coordinator.statistics;
    exports dev.granary.coordinator.tier to
            dev.granary.cli,
            dev.granary.wrap;
    exports dev.granary.coordinator.toml to
            dev.granary.cli,
            dev.granary.plans,
            dev.granary.wrap;
}
