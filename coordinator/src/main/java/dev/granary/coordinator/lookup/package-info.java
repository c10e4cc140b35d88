/** Lookups through the local tier, the buckets and the compiler, with their time budget. */
@NullMarked
package dev.granary.coordinator.lookup;

import org.jspecify.annotations.NullMarked;
