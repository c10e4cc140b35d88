/** Options of the command, with their converters and errors. */
@NullMarked
package dev.granary.cli.option;

import org.jspecify.annotations.NullMarked;
