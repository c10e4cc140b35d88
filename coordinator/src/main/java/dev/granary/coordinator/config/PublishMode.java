package dev.granary.coordinator.config;

import dev.granary.coordinator.Granary;

/** Way in which compiled entries are published. */
public enum PublishMode {
    /**
     * Each unpacked, as soon as it is compiled: for programs, which compile a kernel now and then.
     */
    UNPACKED,
    /**
     * In packs, when one is full or {@link Granary#flush} is called: for bulk compiles such as
     * populate.
     */
    IN_PACKS
}
