/** Processes that the command starts, and the directories that they work in. */
@NullMarked
package dev.granary.coordinator.process;

import org.jspecify.annotations.NullMarked;
