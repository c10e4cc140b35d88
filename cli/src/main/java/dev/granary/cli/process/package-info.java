/** Processes that the command starts, and the directories that they work in. */
@NullMarked
package dev.granary.cli.process;

import org.jspecify.annotations.NullMarked;
