/** The local tier: one directory that any number of processes share. */
module dev.granary.local {
    requires transitive dev.granary.cache;

    exports dev.granary.local;
}
