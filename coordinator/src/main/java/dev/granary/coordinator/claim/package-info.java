/** Claims on compiling: one process of a machine compiles, the others wait. */
@NullMarked
package dev.granary.coordinator.claim;

import org.jspecify.annotations.NullMarked;
