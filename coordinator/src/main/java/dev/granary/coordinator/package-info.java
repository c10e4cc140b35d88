/** Granary itself: the look-up path over all tiers, and its configuration. */
@NullMarked
package dev.granary.coordinator;

import org.jspecify.annotations.NullMarked;
