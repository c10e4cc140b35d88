/** Operations on stores as a whole: doctor, warm, compact, verify, inventory. */
@NullMarked
package dev.granary.coordinator.admin;

import org.jspecify.annotations.NullMarked;
