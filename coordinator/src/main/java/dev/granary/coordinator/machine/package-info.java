/**
 * State of this machine in the local directory: claims, sessions with pending uploads, quarantined
 * entries, totals.
 */
@NullMarked
package dev.granary.coordinator.machine;

import org.jspecify.annotations.NullMarked;
