/** State that survives a process: its session, pending uploads, and quarantined entries. */
@NullMarked
package dev.granary.coordinator.session;

import org.jspecify.annotations.NullMarked;
