/** Delivery of events to listeners and to the flight recorder of the JVM. */
@NullMarked
package dev.granary.coordinator.observe;

import org.jspecify.annotations.NullMarked;
