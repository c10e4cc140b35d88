/**
 * Kernel plans: loop nests with their caches and threads, the OpenCL C of them, and tunings whose
 * outcomes are shared like binaries.
 */
module dev.granary.plans {
    requires transitive dev.granary.coordinator;

    exports dev.granary.plans;
    exports dev.granary.plans.file to
            dev.granary.cli;
    exports dev.granary.plans.nest;
    exports dev.granary.plans.picture;
    exports dev.granary.plans.tuning;
}
