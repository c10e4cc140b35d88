/** Capacity: eviction of entries, and reclaiming of their space. */
@NullMarked
package dev.granary.local.eviction;

import org.jspecify.annotations.NullMarked;
