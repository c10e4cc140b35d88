/** The wrapping of programs: the files of their own kernel caches are shared like entries. */
@SuppressWarnings("module") // the module named in the qualified export is built later
module dev.granary.wrap {
    requires transitive dev.granary.coordinator;
    requires dev.granary.local;
    requires dev.granary.s3;
    requires jdk.unsupported;
    requires org.slf4j;

    exports dev.granary.wrap to
            dev.granary.cli;
}
