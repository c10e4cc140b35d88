/** Granary itself: the tiers composed, the look-up path, configuration, the {@code granary} command. */
module dev.granary.coordinator {
    requires transitive dev.granary.cache;
    requires transitive dev.granary.gpu;
    requires transitive dev.granary.local;
    requires transitive dev.granary.s3;
    requires com.google.gson;
    requires info.picocli;
    requires java.management;
    requires org.slf4j;
    requires org.tomlj;

    exports dev.granary.coordinator;
    exports dev.granary.coordinator.admin;
    exports dev.granary.coordinator.config;
    exports dev.granary.coordinator.demo;
    exports dev.granary.coordinator.demo.kernels;
    exports dev.granary.coordinator.manifest;
    exports dev.granary.coordinator.statistics;
    exports dev.granary.coordinator.stores;
    exports dev.granary.coordinator.transfer;
}
