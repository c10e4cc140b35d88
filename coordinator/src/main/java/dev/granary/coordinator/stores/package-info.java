/** Opening of tiers and layers from a configuration. */
@NullMarked
package dev.granary.coordinator.stores;

import org.jspecify.annotations.NullMarked;
