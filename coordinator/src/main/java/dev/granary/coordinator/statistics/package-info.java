/** Counters, their snapshots, and sums over all processes. */
@NullMarked
package dev.granary.coordinator.statistics;

import org.jspecify.annotations.NullMarked;
