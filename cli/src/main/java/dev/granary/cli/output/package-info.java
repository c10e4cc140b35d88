/** Output of the command: tables and JSON, units, progress, build logs. */
@NullMarked
package dev.granary.cli.output;

import org.jspecify.annotations.NullMarked;
