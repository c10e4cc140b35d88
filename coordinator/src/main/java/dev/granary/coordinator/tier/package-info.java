/**
 * The tiers below memory: the local tier and the layers, with their limits, checks and counters.
 */
@NullMarked
package dev.granary.coordinator.tier;

import org.jspecify.annotations.NullMarked;
