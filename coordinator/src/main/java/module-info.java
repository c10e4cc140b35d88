/** Granary itself: the tiers composed, the look-up path, configuration, the {@code granary} command. */
module dev.granary.coordinator {
    requires transitive dev.granary.cache;
    requires transitive dev.granary.gpu;
    requires dev.granary.local;
    requires dev.granary.s3;
    requires org.slf4j;

}
