/** The local tier: one directory that any number of processes share. */
@SuppressWarnings("module") // the modules named in qualified exports are built later
module dev.granary.local {
    requires transitive dev.granary.cache;

    exports dev.granary.local to
            dev.granary.cli,
            dev.granary.coordinator,
            dev.granary.wrap;
}
