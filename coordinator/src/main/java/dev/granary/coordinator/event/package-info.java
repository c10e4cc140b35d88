/** Events of a Granary, and the listener that receives them. */
@NullMarked
package dev.granary.coordinator.event;

import org.jspecify.annotations.NullMarked;
