/** The declarations of counters, and their snapshots. */
@NullMarked
package dev.granary.coordinator.statistics;

import org.jspecify.annotations.NullMarked;
