/** Claims: one process of a machine compiles an id, while the others wait. */
@NullMarked
package dev.granary.coordinator.claim;

import org.jspecify.annotations.NullMarked;
