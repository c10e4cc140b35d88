/** Opening of the tiers that a configuration names. */
@NullMarked
package dev.granary.coordinator.stores;

import org.jspecify.annotations.NullMarked;
