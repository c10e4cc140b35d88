/** Bases of the commands: their options and their output. */
@NullMarked
package dev.granary.cli.command;

import org.jspecify.annotations.NullMarked;
