/**
 * The outcomes of tunings in the tiers: their revisions, and the merge of those of two machines.
 */
@NullMarked
package dev.granary.coordinator.tuning;

import org.jspecify.annotations.NullMarked;
