/** The local tier: one directory that any number of processes share. */
@SuppressWarnings("module") // those that it exports to are built after it
module dev.granary.local {
    requires transitive dev.granary.cache;

    exports dev.granary.local;
    exports dev.granary.local.claim;
    exports dev.granary.local.directory to
            dev.granary.coordinator;
}
