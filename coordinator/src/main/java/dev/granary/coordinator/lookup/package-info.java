/** The way of a look-up through local tier, buckets and compiler, and its time budget. */
@NullMarked
package dev.granary.coordinator.lookup;

import org.jspecify.annotations.NullMarked;
