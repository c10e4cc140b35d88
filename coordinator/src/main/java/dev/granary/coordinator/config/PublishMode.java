package dev.granary.coordinator.config;

import dev.granary.coordinator.Granary;

/** How entries are published that were compiled here. */
public enum PublishMode {
    /** Each alone, as soon as it is compiled: for programs, which compile a kernel now and then. */
    ALONE,
    /** In packs, when one is full or {@link Granary#flush} is waited for: for who compiles many, such as populate. */
    IN_PACKS
}
