/** Granary: the entry point for lookups over all tiers. */
@NullMarked
package dev.granary.coordinator;

import org.jspecify.annotations.NullMarked;
