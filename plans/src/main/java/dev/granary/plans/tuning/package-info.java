/**
 * Tuning: the plans of a space are measured on a device, and the best one becomes an entry that
 * machines share like binaries.
 */
@NullMarked
package dev.granary.plans.tuning;

import org.jspecify.annotations.NullMarked;
