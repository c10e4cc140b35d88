/** Counters of lookups, their snapshots, and their totals over all processes. */
@NullMarked
package dev.granary.coordinator.statistics;

import org.jspecify.annotations.NullMarked;
