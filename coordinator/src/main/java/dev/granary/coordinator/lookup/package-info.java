/** Lookups through the local tier, the buckets and the compiler, step by step. */
@NullMarked
package dev.granary.coordinator.lookup;

import org.jspecify.annotations.NullMarked;
