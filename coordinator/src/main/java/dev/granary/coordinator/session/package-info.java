/** State that outlives a process: presence, notes of pending uploads, programs that no driver takes. */
@NullMarked
package dev.granary.coordinator.session;

import org.jspecify.annotations.NullMarked;
