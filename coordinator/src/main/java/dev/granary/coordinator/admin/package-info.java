/** Operations on whole tiers: doctor, warm, compact, verify, inventory. */
@NullMarked
package dev.granary.coordinator.admin;

import org.jspecify.annotations.NullMarked;
